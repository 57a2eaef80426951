// Graphs: shortest paths by a priority queue in each thread, breadth-first search by levels over a queue of
// the grid, union-find, topological order, Floyd-Warshall in shared memory, maximal flow, colouring.
#include "twin.hpp"

namespace graphs {

constexpr u32 nodes = 40, degree = 4;

// A binary heap with a place for each node, so that a distance may become smaller.
struct Queue {
    u32 keys[nodes];
    u8 heap[nodes], place[nodes];
    u32 size;

    BOTH void put(u32 at, u8 node) { heap[at] = node, place[node] = (u8)at; }
    BOTH void rise(u32 at) {
        const u8 node = heap[at];
        for (; at > 0 && keys[node] < keys[heap[(at - 1) / 2]]; at = (at - 1) / 2)
            put(at, heap[(at - 1) / 2]);
        put(at, node);
    }
    BOTH u8 pop() {
        const u8 first = heap[0], last = heap[--size];
        u32 at = 0;
        for (;;) {
            u32 child = 2 * at + 1;
            if (child >= size) break;
            if (child + 1 < size && keys[heap[child + 1]] < keys[heap[child]]) ++child;
            if (keys[last] <= keys[heap[child]]) break;
            put(at, heap[child]);
            at = child;
        }
        put(at, last);
        return first;
    }
};

BOTH inline void dijkstra(const u8* edges, const u16* weights, u32 from, u32* distances) {
    Queue queue;
    queue.size = nodes;
    for (u32 i = 0; i < nodes; ++i) queue.keys[i] = i == from ? 0 : 0x7fffffff, queue.put(i, (u8)i);
    queue.rise(from);
    while (queue.size > 0) {
        const u8 node = queue.pop();
        distances[node] = queue.keys[node];
        if (queue.keys[node] == 0x7fffffff) continue;
        for (u32 e = node * degree; e < node * degree + degree; ++e) {
            const u32 next = queue.keys[node] + weights[e];
            if (next >= queue.keys[edges[e]]) continue;
            queue.keys[edges[e]] = next;
            queue.rise(queue.place[edges[e]]);
        }
    }
}

// Edmonds and Karp, on 12 nodes
BOTH inline u32 max_flow(const u8* edges, const u16* weights, u32 from, u32 to) {
    constexpr u32 n = 12;
    s32 left[n][n] = {};
    for (u32 i = 0; i < n; ++i)
        for (u32 e = 0; e < degree; ++e)
            if (edges[i * degree + e] % n != i)
                left[i][edges[i * degree + e] % n] += weights[i * degree + e] % 50;
    u32 flow = 0;
    for (;;) {
        s8 parent[n];
        for (s8& p : parent) p = -1;
        u8 queue[n];
        u32 head = 0, tail = 0;
        queue[tail++] = (u8)from, parent[from] = (s8)from;
        while (head < tail) {
            const u32 at = queue[head++];
            for (u32 k = 0; k < n; ++k)
                if (parent[k] < 0 && left[at][k] > 0) parent[k] = (s8)at, queue[tail++] = (u8)k;
        }
        if (parent[to] < 0) return flow;
        s32 least = 0x7fffffff;
        for (u32 at = to; at != from; at = (u32)parent[at])
            least = left[parent[at]][at] < least ? left[parent[at]][at] : least;
        for (u32 at = to; at != from; at = (u32)parent[at])
            left[parent[at]][at] -= least, left[at][parent[at]] += least;
        flow += (u32)least;
    }
}

#ifdef __CUDACC__
ENTRY paths(const u8* edges, const u16* weights, u32* distances, u32* flows) {
    const u32 t = thread_number();
    if (t >= nodes) return;
    dijkstra(edges, weights, t, distances + t * nodes);
    flows[t] = max_flow(edges, weights, t % 12, (t + 1 + t / 12) % 12);
}

ENTRY floyd_warshall(const u8* edges, const u16* weights, u32* out) {
    __shared__ u32 d[nodes][nodes];
    for (u32 i = threadIdx.x; i < nodes * nodes; i += blockDim.x)
        d[i / nodes][i % nodes] = i / nodes == i % nodes ? 0 : 0x7fffffff;
    __syncthreads();
    for (u32 i = threadIdx.x; i < nodes * degree; i += blockDim.x)
        atomicMin(&d[i / degree][edges[i]], (u32)weights[i]);
    for (u32 k = 0; k < nodes; ++k) {
        __syncthreads();
        for (u32 i = threadIdx.x; i < nodes * nodes; i += blockDim.x) {
            const u32 a = i / nodes, b = i % nodes;
            if (a != k && b != k) d[a][b] = min(d[a][b], d[a][k] + d[k][b]);
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < nodes * nodes; i += blockDim.x) out[i] = d[i / nodes][i % nodes];
}

ENTRY level(const u8* edges, const u32* frontier, u32 count, u32 depth, u32* depths, u32* next,
            u32* next_count) {
    const u32 i = thread_number();
    if (i >= count * degree) return;
    const u32 to = edges[frontier[i / degree] * degree + i % degree];
    if (atomicCAS(&depths[to], ~0u, depth) == ~0u) next[atomicAdd(next_count, 1)] = to;
}

DEVICE u32 root_of(volatile u32* parent, u32 x) {
    while (parent[x] != x) x = parent[x];
    return x;
}
// without a lock: the larger root hangs below the smaller
ENTRY components(const u8* edges, u32* parent, u32 kept) {
    const u32 i = thread_number();
    if (i >= nodes * degree || i % 11 >= kept) return;
    u32 a = i / degree, b = edges[i];
    for (;;) {
        a = root_of(parent, a), b = root_of(parent, b);
        if (a == b) return;
        const u32 low = min(a, b), high = max(a, b);
        if (atomicCAS(&parent[high], high, low) == high) return;
    }
}
#else

static void search(twin::Run& run, const std::vector<u8>& edges, u64 at) {
    std::vector<u32> depths(nodes, ~0u), host = depths, queue = {3};
    depths[3] = host[3] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i)
        for (u32 e = 0; e < degree; ++e) {
            const u32 to = edges[queue[i] * degree + e];
            if (host[to] == ~0u) host[to] = host[queue[i]] + 1, queue.push_back(to);
        }
    const u64 device = run.upload(depths);
    std::vector<u32> frontier = {3};
    for (u32 depth = 1; !frontier.empty(); ++depth) {
        const u64 next = run.zeros<u32>(nodes), count = run.zeros<u32>(1);
        run.launch("level", {.grid = 5, .block = 32}, at, run.upload(frontier), (u32)frontier.size(), depth,
                   device, next, count);
        frontier = run.download<u32>(next, nodes);
        frontier.resize(run.download<u32>(count, 1)[0]);
    }
    run.expect_same("depths", run.download<u32>(device, nodes), host);
}

static u32 root(std::vector<u32>& parent, u32 x) {
    while (parent[x] != x) x = parent[x];
    return x;
}

TWIN(Graphs, "sm_75", "sm_90a -G", "sm_80 nvcc -Xcicc -O0", "sm_120a") {
    std::vector<u8> edges(nodes * degree);
    std::vector<u16> weights(nodes * degree);
    for (u8& e : edges) e = (u8)(run.random() % nodes);
    for (u16& w : weights) w = (u16)(1 + run.random() % 1000);
    std::vector<u32> distances(nodes * nodes), flows;
    for (u32 t = 0; t < nodes; ++t) {
        dijkstra(edges.data(), weights.data(), t, &distances[t * nodes]);
        flows.push_back(max_flow(edges.data(), weights.data(), t % 12, (t + 1 + t / 12) % 12));
    }
    const u64 e = run.upload(edges), w = run.upload(weights), by_thread = run.zeros<u32>(nodes * nodes),
              by_block = run.zeros<u32>(nodes * nodes), flow = run.zeros<u32>(nodes);
    run.launch("paths", {.grid = 2, .block = 32}, e, w, by_thread, flow);
    run.launch("floyd_warshall", {.block = 128}, e, w, by_block);
    run.expect_same("paths", run.download<u32>(by_thread, nodes * nodes), distances);
    run.expect_same("all pairs", run.download<u32>(by_block, nodes * nodes), distances);
    run.expect_same("flows", run.download<u32>(flow, nodes), flows);
    search(run, edges, e);

    std::vector<u32> parent(nodes);
    std::iota(parent.begin(), parent.end(), 0);
    const u64 device = run.upload(parent);
    run.launch("components", {.grid = 5, .block = 32}, e, device, 2u);
    for (u32 i = 0; i < nodes * degree; ++i) {
        if (i % 11 >= 2) continue;
        const u32 a = root(parent, i / degree), b = root(parent, edges[i]);
        parent[std::max(a, b)] = std::min(a, b);
    }
    auto got = run.download<u32>(device, nodes);
    for (u32 i = 0; i < nodes; ++i) got[i] = root(got, i), parent[i] = root(parent, i);
    run.expect_same("components", got, parent);
}
#endif
}  // namespace graphs
