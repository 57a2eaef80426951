// What conv/wgmma computes, in double and in plain loops: a thread for each element of y, with the same
// sites. A prologue sees words of elements along the channels, which end in zeros, and zeros where the
// filter's window is beyond the image.
#include "../gemm/wgmma_reference.cuh"

struct Window {
    const In *x, *w;
    unsigned height, width, out_h, out_w, channels, filter_h, filter_w;
    unsigned stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

/// A pixel of the image, or null where there is none: `row` and `col` count from the padding's corner on.
__device__ const In* pixel_of(const Window& of, unsigned long long image, unsigned row, unsigned col) {
    row -= of.pad_h, col -= of.pad_w;  // wraps around, and so is beyond the image
    if (row >= of.height || col >= of.width) return nullptr;
    return of.x + ((image * of.height + row) * of.width + col) * of.channels;
}

__device__ double product(const Window& of, unsigned pixel, unsigned filter) {
    const unsigned out_row = pixel / of.out_w % of.out_h, out_col = pixel % of.out_w;
    const unsigned long long image = pixel / of.out_w / of.out_h;
    constexpr unsigned tile_k = 128 / sizeof(In);
    const unsigned channels = (of.channels + tile_k - 1) / tile_k * tile_k;
    double sum = 0;
    for (unsigned place = 0; place < of.filter_h * of.filter_w; ++place) {
        const In* const a = pixel_of(of, image, out_row * of.stride_h + place / of.filter_w * of.dilation_h,
                                     out_col * of.stride_w + place % of.filter_w * of.dilation_w);
        const In* const b =
            of.w +
            (static_cast<unsigned long long>(filter) * of.filter_h * of.filter_w + place) * of.channels;
        for (unsigned i = 0; i < channels; i += word)
            sum += product_of_words(load(a, 1, i, a == nullptr ? 0 : of.channels), load(b, 1, i, of.channels),
                                    pixel, filter, place * channels + i);
    }
    return sum;
}

struct Inputs {
    const Window& window;
    const float *column_scale, *bias;
    const Out* residual;
    unsigned long long m, n;
};
__device__ double element(const Inputs& in, unsigned row, unsigned col) {
    return epilogue(product(in.window, row, col), row, col, 0,
                    {1.0f, in.column_scale ? in.column_scale[col] : 1.0f, in.bias ? in.bias[col] : 0.0f,
                     in.residual ? value_of<output>(in.residual[row * in.n + col]) : 0.0f});
}

extern "C" __global__ void conv_reference(const In* x, const In* w, const float* column_scale,
                                          const float* bias, const Out* residual, double* y, unsigned images,
                                          unsigned height, unsigned width, unsigned out_h, unsigned out_w,
                                          unsigned channels, unsigned filters, unsigned filter_h,
                                          unsigned filter_w, unsigned stride_h, unsigned stride_w,
                                          unsigned pad_h, unsigned pad_w, unsigned dilation_h,
                                          unsigned dilation_w, double* statistics) {
    const unsigned col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    const unsigned m = images * out_h * out_w;
    if (row >= m || col >= filters) return;
    const Window window = {x,        w,        height,   width, out_h, out_w,      channels,  filter_h,
                           filter_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w};
    const Inputs in{window, column_scale, bias, residual, m, filters};
    y[row * in.n + col] = element(in, row, col);
    leave_statistic([&](unsigned i, unsigned j) { return contribution(element(in, i, j), i, j, 0); }, row,
                    col, m, filters, 0, statistics);
}
