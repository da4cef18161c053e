// Replaces functions that are compiled in the C++ library, as libc_calls.cpp does for the C library. They write the
// links of std::map, std::set and std::list. All other templates are compiled with the program (remc++ passes
// -D_GLIBCXX_EXTERN_TEMPLATE=0). Depends on shadow.
//
// All links of a node are marked when the node is inserted, even null ones. Later the library changes only links of
// such nodes.
#include "shadow.hpp"

#include <bits/stl_tree.h>
#include <list>

#define REM_EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

using node = std::_Rb_tree_node_base;
using remanence::softpm::mark;
using remanence::softpm::set_mark;

void mark_links(const node& of) {
    set_mark(&of._M_parent, mark::pointer);
    set_mark(&of._M_left, mark::pointer);
    set_mark(&of._M_right, mark::pointer);
}

} // namespace

REM_EXPORT void softpm_tree_insert(bool is_left, node* added, node* parent, node& header) {
    mark_links(*added);
    mark_links(header);
    std::_Rb_tree_insert_and_rebalance(is_left, added, parent, header);
}

REM_EXPORT node* softpm_tree_erase(node* which, node& header) {
    mark_links(header);
    return std::_Rb_tree_rebalance_for_erase(which, header);
}

REM_EXPORT void softpm_list_hook(std::__detail::_List_node_base* added, std::__detail::_List_node_base* before) {
    set_mark(&added->_M_next, mark::pointer);
    set_mark(&added->_M_prev, mark::pointer);
    set_mark(&before->_M_prev, mark::pointer);
    set_mark(&before->_M_prev->_M_next, mark::pointer);
    added->_M_hook(before);
}
