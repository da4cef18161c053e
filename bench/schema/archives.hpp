// What archives of other libraries have in common: objects in memory are written to a stream and read from it.
#pragma once

#include "objects.hpp"

#include <harness.hpp>

#include <fstream>
#include <stdexcept>

template <class Objects, class Write, class Read>
dump_times run_archive(const Objects& objects, const std::filesystem::path& file, const Write& write,
                       const Read& read) {
    dump_times times;
    {
        const bench::stopwatch watch;
        std::ofstream to(file, std::ios::binary);
        write(to, objects);
        if (!to.flush())
            throw std::runtime_error("cannot write " + file.string());
        times.dump = watch.seconds();
    }
    const bench::stopwatch watch;
    std::ifstream from(file, std::ios::binary);
    Objects loaded;
    read(from, loaded);
    times.load = watch.seconds();
    times.checksum = checksum(loaded);
    return times;
}

template <class Write, class Read>
dump_times run_archives(workload what, std::uint64_t numbers, const std::filesystem::path& file, const Write& write,
                        const Read& read) {
    return what == workload::book ? run_archive(make_book(), file, write, read)
                                  : run_archive(make_numbers(numbers), file, write, read);
}
