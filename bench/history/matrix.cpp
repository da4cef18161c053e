#include "matrix.hpp"

#include <harness.hpp>

#include <remanence/remanence.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

namespace rem = remanence;
using matrix = rem::vector<double>;

std::size_t rows_of(const matrix& all) { return static_cast<std::size_t>(std::sqrt(static_cast<double>(all.size()))); }

/// By Gauss and Jordan, in place, with pivots from the column.
void invert(rem::heap& heap) {
    matrix& all = *heap.find_root<matrix>("matrix");
    const std::size_t n = rows_of(all);
    double* const a = all.data();
    std::vector<std::size_t> pivots(n);
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t best = k;
        for (std::size_t i = k + 1; i < n; ++i) {
            if (std::abs(a[i * n + k]) > std::abs(a[best * n + k]))
                best = i;
        }
        if (a[best * n + k] == 0)
            throw std::domain_error("the matrix has no inverse");
        pivots[k] = best;
        if (best != k)
            std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
        const double by = 1 / a[k * n + k];
        a[k * n + k] = 1;
        for (std::size_t j = 0; j < n; ++j)
            a[k * n + j] *= by;
        for (std::size_t i = 0; i < n; ++i) {
            if (i == k)
                continue;
            const double factor = std::exchange(a[i * n + k], 0.0);
            for (std::size_t j = 0; j < n; ++j)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
    for (std::size_t k = n; k-- > 0;) {
        for (std::size_t i = 0; pivots[k] != k && i < n; ++i)
            std::swap(a[i * n + k], a[i * n + pivots[k]]);
    }
}

/// Householder's: what it does twice is nothing.
void reflect(rem::heap& heap) {
    matrix& all = *heap.find_root<matrix>("matrix");
    const std::size_t n = rows_of(all);
    double length = 0;
    std::vector<double> axis(n);
    for (std::size_t i = 0; i < n; ++i) {
        axis[i] = 1 + static_cast<double>(i % 17);
        length += axis[i] * axis[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
        double* const row = all.data() + i * n;
        double along = 0;
        for (std::size_t j = 0; j < n; ++j)
            along += row[j] * axis[j];
        along *= 2 / length;
        for (std::size_t j = 0; j < n; ++j)
            row[j] -= along * axis[j];
    }
}

double difference(const matrix& one, const std::vector<double>& other) {
    double most = 0;
    for (std::size_t i = 0; i < one.size(); ++i)
        most = std::max(most, std::abs(one[i] - other[i]));
    return most;
}

void measure(const std::filesystem::path& file, std::size_t rows, void (*change)(rem::heap&), const std::string& what,
             bool by_call) {
    rem::procedure_set known;
    known.add<void>("change", change, change);
    rem::heap heap = rem::heap::create(file, {.history = {.steps_max = 100, .kept_over_sessions = true},
                                              .procedures = by_call ? known : rem::procedure_set()});
    auto& all = heap.root<matrix>("matrix");
    heap.write([&] {
        std::mt19937_64 random(1);
        all.resize(rows * rows);
        for (double& each : all)
            each = std::uniform_real_distribution<double>(-1, 1)(random);
        for (std::size_t i = 0; i < rows; ++i)
            all[i * rows + i] += static_cast<double>(rows); // so that it has an inverse
    });
    heap.checkpoint();
    heap.forget_history();
    heap.checkpoint();
    const std::vector<double> first(all.begin(), all.end());
    const auto history_bytes = [&] { return std::filesystem::file_size(file.string() + "-history"); };
    const rem::heap_stats before = heap.stats();
    const stopwatch watch;
    if (by_call)
        heap.call("change");
    else
        heap.write([&] { change(heap); });
    const double seconds = watch.seconds();
    const rem::heap_stats after = heap.stats();
    const double step = static_cast<double>(heap.history().back().bytes);
    hand_over({what,
               seconds,
               {{"step_bytes", step},
                {"logged_bytes", static_cast<double>(after.logged_bytes - before.logged_bytes)},
                {"image_bytes", static_cast<double>(after.image_bytes - before.image_bytes)}}});
    const stopwatch back;
    heap.undo();
    const double undone = back.seconds();
    if (difference(all, first) > 1e-6)
        throw std::runtime_error("the undo has not led back");
    heap.checkpoint();
    hand_over({"undo of it",
               undone,
               {{"difference", difference(all, first)}, {"history_bytes", static_cast<double>(history_bytes())}}});
    heap.close();
}

} // namespace

void measure_inversion(const std::filesystem::path& file, bool by_call) {
    measure(file, 362, invert, "inversion", by_call);
}

void measure_reflection(const std::filesystem::path& file, bool by_call) {
    measure(file, 2896, reflect, "reflection", by_call);
}

} // namespace bench
