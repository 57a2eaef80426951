// Convolutions of images (NHWC) by filters (KRSC) on the tensor cores of sm_90a, as a product of matrices
// that exists nowhere: its a has a row for each pixel of y, in which the filter's window of x lies element by
// element, its b has the filters for columns, and its c is y. Any numbers and sizes of images and filters,
// any stride, padding and dilation that tensor copies can do; elements of a pixel begin at 16 bytes.
//
// A tensor copy of the im2col mode brings rows of a as they are multiplied: for one place of the filter, and
// up to 64 channels (128 of 8 bits), what each pixel of the tile sees there, zeros where that is beyond the
// image. All else is gemm/wgmma's: ../gemm/wgmma.cuh has the parts, ../gemm/wgmma.md says how they work.
//
// The sites are those of gemm/wgmma: `row` is the pixel of y, (image * out_h + its row) * out_w + its column,
// `col` the filter, `k` (filter's row * filter_w + filter's column) * channels, rounded up to a stage's 64 or
// 128, + the channel.
#define LAYOUT_A row
#define LAYOUT_B column
#define PRODUCER_REGISTERS 40  // it counts through the filter
#include "../gemm/wgmma.cuh"

using namespace gemm;

struct Shape {
    u32 out_h, out_w, filter_w, channels;
    u32 stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

/// What the producer copies: `a` is the map of x, `b` that of the filters, one place of all of them after the
/// other.
struct Images {
    static constexpr u32 bytes = stage_bytes;
    const TensorMap &a, &b;
    const Shape& of;
    u32 image;
    int x, y;                 // of x, for the tile's first pixel and the filter's first place; from -pad on
    u32 channel;              // of the stage, and the place in the filter:
    u32 place;                // which one of all,
    u32 column, right, down;  // its column, and where it lies in x

    static constexpr u32 rows_a = tile_m / cluster_n, rows_b = tile_n / cluster_m;

    __device__ void begin(const Tile& tile, u32 rank) {
        const u32 pixel = tile.row + (cluster_n > 1 ? rank * rows_a : 0), row = pixel / of.out_w;
        image = row / of.out_h;
        x = static_cast<int>(pixel % of.out_w * of.stride_w) - static_cast<int>(of.pad_w);
        y = static_cast<int>(row % of.out_h * of.stride_h) - static_cast<int>(of.pad_h);
        channel = place = column = right = down = 0;
    }
    __device__ void copy(const Tile& tile, u32, u32 stage, u32 rank) {
        const u32 to = shared_address(shared) + stage * stage_bytes, full = full_of(stage);
        const u32 own_a = cluster_n > 1 ? rank * rows_a : 0, own_b = cluster_m > 1 ? rank * rows_b : 0;
        const u32 to_a = to + own_a * row_bytes, to_b = to + a_bytes + own_b * row_bytes;
        if constexpr (cluster_n > 1)
            tma_load_im2col_4d_multicast(to_a, a, full, channel, x, y, image, right, down, 3);
        else
            tma_load_im2col_4d(to_a, a, full, channel, x, y, image, right, down);
        if constexpr (cluster_m > 1)
            tma_load_3d_multicast(to_b, b, full, channel, place, tile.col + own_b, 3);
        else
            tma_load_3d(to_b, b, full, channel, place, tile.col + own_b);
        advance();
    }
    __device__ WriterOfB writer(const Tile& tile) const { return WriterOfB(tile.col); }

  private:
    __device__ void advance() {
        channel += tile_k;
        if (channel < of.channels) return;
        channel = 0, ++place, ++column, right += of.dilation_w;
        if (column < of.filter_w) return;
        column = right = 0, down += of.dilation_h;
    }
};

extern "C" __global__ void __launch_bounds__(threads, 1) __cluster_dims__(cluster, 1, 1)
    conv_wgmma(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w,
               const float* __restrict__ column_scale, const float* __restrict__ bias,
               const Out* __restrict__ residual, Out* __restrict__ y, const __grid_constant__ TensorMap map_y,
               u32 images, u32, u32, u32 out_h, u32 out_w, u32 channels, u32 filters, u32 filter_h,
               u32 filter_w, u32 stride_h, u32 stride_w, u32 pad_h, u32 pad_w, u32 dilation_h, u32 dilation_w,
               float* __restrict__ statistics) {
    const u32 m = images * out_h * out_w;
    const Shape shape = {out_h,    out_w, filter_w, channels,   stride_h,
                         stride_w, pad_h, pad_w,    dilation_h, dilation_w};
    run([&] { return TilesOfBatch(m, filters, 1); }, Images{x, w, shape},
        filter_h * filter_w * ((channels + tile_k - 1) / tile_k * tile_k),
        {y,
         &map_y,
         filters * sizeof(Out) % 16 == 0,
         filters,
         {nullptr, column_scale, bias, residual},
         {statistics, m, filters}});
}
