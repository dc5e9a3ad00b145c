// Runs one form of doubleGraph's sssp on a graph from a file and prints the milliseconds per round.
//
//   doublegraph-sssp-FORM GRAPH SOURCE ROUNDS DISTANCES
//
// GRAPH holds n and m (int64), n + 1 offsets, m targets (int32) and m weights (float32). FORM_FILE
// is the file of doubleGraph that is compiled in; SEGMENTED says that it wants vertices sorted by
// descending degree, with the limits of the segments. Sorting is not timed, and DISTANCES are in
// the order of the graph, float32.
#include FORM_FILE

#include <algorithm>
#include <chrono>
#include <cfloat>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

void fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

template <typename T>
std::vector<T> read(std::FILE* file, size_t count) {
    std::vector<T> values(count);
    if (std::fread(values.data(), sizeof(T), count, file) != count) {
        fail("the graph's file ends too early");
    }
    return values;
}

template <typename T>
T* to_device(const std::vector<T>& values) {
    T* found = nullptr;
    if (cudaMalloc(&found, std::max<size_t>(values.size(), 1) * sizeof(T)) != cudaSuccess) {
        fail("out of device memory");
    }
    cudaMemcpy(found, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
    return found;
}

struct Csr {
    std::vector<int32_t> offsets, targets;
    std::vector<float> weights;
};

int32_t degree(const Csr& graph, int32_t v) { return graph.offsets[v + 1] - graph.offsets[v]; }

// The graph with vertices in this order; place[v] is where v went.
Csr sorted(const Csr& graph, const std::vector<int32_t>& order, const std::vector<int32_t>& place) {
    Csr made;
    made.offsets.push_back(0);
    for (const int32_t v : order) {
        for (int32_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
            made.targets.push_back(place[graph.targets[e]]);
            made.weights.push_back(graph.weights[e]);
        }
        made.offsets.push_back(static_cast<int32_t>(made.targets.size()));
    }
    return made;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        fail("usage: doublegraph-sssp-FORM GRAPH SOURCE ROUNDS DISTANCES");
    }
    std::FILE* file = std::fopen(argv[1], "rb");
    if (file == nullptr) {
        fail("cannot read the graph's file");
    }
    const auto sizes = read<int64_t>(file, 2);
    Csr graph;
    graph.offsets = read<int32_t>(file, sizes[0] + 1);
    graph.targets = read<int32_t>(file, sizes[1]);
    graph.weights = read<float>(file, sizes[1]);
    std::fclose(file);
    const int32_t n = static_cast<int32_t>(sizes[0]);
    std::vector<int32_t> order(n), place(n);
    std::iota(order.begin(), order.end(), 0);
    if (SEGMENTED) {
        std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
            return degree(graph, a) > degree(graph, b);
        });
    }
    for (int32_t i = 0; i < n; ++i) {
        place[order[i]] = i;
    }
    if (SEGMENTED) {
        graph = sorted(graph, order, place);
    }

    aai::graph32_t given{};
    given.offsets = to_device(graph.offsets);
    given.indices = to_device(graph.targets);
    given.number_of_vertices = n;
    given.number_of_edges = static_cast<int32_t>(sizes[1]);
    if (SEGMENTED) {
        std::vector<int32_t> limits{0};
        for (const int32_t least : {1024, 32, 1}) {
            int32_t at = limits.back();
            while (at < n && degree(graph, at) >= least) {
                ++at;
            }
            limits.push_back(at);
        }
        limits.push_back(n);
        given.segment_offsets = limits;
    }
    const float* weights = to_device(graph.weights);
    float* distances = to_device(std::vector<float>(n));
    int32_t* predecessors = to_device(std::vector<int32_t>(n));
    const int32_t source = place[std::atoi(argv[2])];
    for (int round = 0; round <= std::atoi(argv[3]); ++round) {
        cudaDeviceSynchronize();
        const auto began = std::chrono::steady_clock::now();
#if SEGMENTED
        aai::sssp_seg(given, weights, source, distances, predecessors, FLT_MAX);
#else
        aai::sssp(given, weights, source, distances, predecessors, FLT_MAX);
#endif
        cudaDeviceSynchronize();
        const std::chrono::duration<double, std::milli> took =
            std::chrono::steady_clock::now() - began;
        std::printf(round == 0 ? "Warm-up: %.4f ms\n" : "Round: %.4f ms\n", took.count());
    }
    if (cudaGetLastError() != cudaSuccess) {
        fail("a kernel failed");
    }
    std::vector<float> found(n), out(n);
    cudaMemcpy(found.data(), distances, n * sizeof(float), cudaMemcpyDeviceToHost);
    for (int32_t v = 0; v < n; ++v) {
        out[v] = found[place[v]];
    }
    std::FILE* answer = std::fopen(argv[4], "wb");
    if (answer == nullptr || std::fwrite(out.data(), sizeof(float), n, answer) != out.size()) {
        fail("cannot write the distances");
    }
    std::fclose(answer);
    return 0;
}
