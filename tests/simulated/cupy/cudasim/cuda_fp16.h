// Half precision as CUDA's header of this name has it, as far as generated kernels use it.
#pragma once
struct __half { _Float16 value; };
static inline float __half2float(__half x) { return (float)x.value; }
static inline __half __float2half_rn(float x) { return {(_Float16)x}; }
static inline __half __double2half(double x) { return {(_Float16)x}; }
