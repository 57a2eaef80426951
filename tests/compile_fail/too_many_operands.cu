// error: a site has at most 64 operands
#include <ptxgraft/site.cuh>

extern "C" __global__ void kernel(float* p, unsigned n) {
    float x = p[n];
#ifdef FAULT
    PTXGRAFT_SITE(
        "s", "", in(u32, n0, n), in(u32, n1, n), in(u32, n2, n), in(u32, n3, n), in(u32, n4, n),
        in(u32, n5, n), in(u32, n6, n), in(u32, n7, n), in(u32, n8, n), in(u32, n9, n), in(u32, n10, n),
        in(u32, n11, n), in(u32, n12, n), in(u32, n13, n), in(u32, n14, n), in(u32, n15, n), in(u32, n16, n),
        in(u32, n17, n), in(u32, n18, n), in(u32, n19, n), in(u32, n20, n), in(u32, n21, n), in(u32, n22, n),
        in(u32, n23, n), in(u32, n24, n), in(u32, n25, n), in(u32, n26, n), in(u32, n27, n), in(u32, n28, n),
        in(u32, n29, n), in(u32, n30, n), in(u32, n31, n), in(u32, n32, n), in(u32, n33, n), in(u32, n34, n),
        in(u32, n35, n), in(u32, n36, n), in(u32, n37, n), in(u32, n38, n), in(u32, n39, n), in(u32, n40, n),
        in(u32, n41, n), in(u32, n42, n), in(u32, n43, n), in(u32, n44, n), in(u32, n45, n), in(u32, n46, n),
        in(u32, n47, n), in(u32, n48, n), in(u32, n49, n), in(u32, n50, n), in(u32, n51, n), in(u32, n52, n),
        in(u32, n53, n), in(u32, n54, n), in(u32, n55, n), in(u32, n56, n), in(u32, n57, n), in(u32, n58, n),
        in(u32, n59, n), in(u32, n60, n), in(u32, n61, n), in(u32, n62, n), in(u32, n63, n), in(u32, n64, n));
#else
    PTXGRAFT_SITE(
        "s", "", in(u32, n0, n), in(u32, n1, n), in(u32, n2, n), in(u32, n3, n), in(u32, n4, n),
        in(u32, n5, n), in(u32, n6, n), in(u32, n7, n), in(u32, n8, n), in(u32, n9, n), in(u32, n10, n),
        in(u32, n11, n), in(u32, n12, n), in(u32, n13, n), in(u32, n14, n), in(u32, n15, n), in(u32, n16, n),
        in(u32, n17, n), in(u32, n18, n), in(u32, n19, n), in(u32, n20, n), in(u32, n21, n), in(u32, n22, n),
        in(u32, n23, n), in(u32, n24, n), in(u32, n25, n), in(u32, n26, n), in(u32, n27, n), in(u32, n28, n),
        in(u32, n29, n), in(u32, n30, n), in(u32, n31, n), in(u32, n32, n), in(u32, n33, n), in(u32, n34, n),
        in(u32, n35, n), in(u32, n36, n), in(u32, n37, n), in(u32, n38, n), in(u32, n39, n), in(u32, n40, n),
        in(u32, n41, n), in(u32, n42, n), in(u32, n43, n), in(u32, n44, n), in(u32, n45, n), in(u32, n46, n),
        in(u32, n47, n), in(u32, n48, n), in(u32, n49, n), in(u32, n50, n), in(u32, n51, n), in(u32, n52, n),
        in(u32, n53, n), in(u32, n54, n), in(u32, n55, n), in(u32, n56, n), in(u32, n57, n), in(u32, n58, n),
        in(u32, n59, n), in(u32, n60, n), in(u32, n61, n), in(u32, n62, n), in(u32, n63, n));
#endif
    p[n] = x;
}
