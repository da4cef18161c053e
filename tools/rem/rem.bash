# bash completion for rem
_rem() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} options
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "info ls stat readers verify copy schema get dump load log history diff undo restore keep drop branch export gc shrink relocate upgrade --help --version" -- "$current")
        return
    fi
    case $command in
        info | ls | stat | readers | log | diff | undo | restore | keep | drop | branch | shrink) options="--json --help" ;;
        gc) options="--dry-run --json --help" ;;
        relocate) options="--base --json --help" ;;
        export) options="--json --version --help" ;;
        verify) options="--json --pointers --leaks --help" ;;
        history) options="--bytes --steps --end --json --help" ;;
        copy) options="--force --history --help" ;;
        schema) options="--cpp --version --help" ;;
        dump) options="--cbor --salvage --version --help" ;;
        get) options="--version --help" ;;
        load) options="--help" ;;
        upgrade) options="--application --help" ;;
        *) return ;;
    esac
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}
complete -F _rem rem
