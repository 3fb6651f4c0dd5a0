/* Mathematical functions of CUDA C++ that the C library lacks: functions of the normal distribution, sines and cosines
 * of multiples of pi, norms and Bessel functions. The float versions compute in double. */
#ifndef HOSTCUDA_SHIM_SPECIAL_H
#define HOSTCUDA_SHIM_SPECIAL_H

namespace hostcuda
{
constexpr double pi = 3.14159265358979323846, root_of_pi = 1.77245385090551602730, root_of_2 = 1.41421356237309504880;

/* Returns y with erf(y) = x for |x| < 1/2: the first term of the series, refined by Halley's method. */
inline double solve_erf(double x)
{
    double y = x * root_of_pi / 2;
    for (int i = 0; i < 4; i++) {
        double error = std::erf(y) - x;
        y -= error / (2 / root_of_pi * std::exp(-y * y) + y * error);
    }
    return y;
}
/* Returns y with erfc(y) = x for 0 < x < 1. The first approximation is formula 26.2.22 of Abramowitz and Stegun. */
inline double solve_erfc(double x)
{
    double t = std::sqrt(-2 * std::log(x / 2));
    double y = (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481))) / root_of_2;
    for (int i = 0; i < 4; i++) {
        double error = std::erfc(y) - x;
        y += error / (2 / root_of_pi * std::exp(-y * y) - y * error);
    }
    return y;
}
inline double nearest_even(double x)
{
    return 2 * std::nearbyint(x / 2);
}
} // namespace hostcuda

inline double erfcinv(double x)
{
    if (!(x > 0 && x < 2))
        return x == 0 ? HUGE_VAL : x == 2 ? -HUGE_VAL : std::nan("");
    if (x > 0.5 && x < 1.5)
        return hostcuda::solve_erf(1 - x);
    return x < 1 ? hostcuda::solve_erfc(x) : -hostcuda::solve_erfc(2 - x);
}
inline double erfinv(double x)
{
    if (x > -0.5 && x < 0.5)
        return hostcuda::solve_erf(x);
    return x < 0 ? -erfcinv(1 + x) : erfcinv(1 - x);
}
/* Returns exp(x * x) * erfc(x), also where one factor overflows and the other underflows. */
inline double erfcx(double x)
{
    if (x < 25)
        return std::exp(x * x) * std::erfc(x);
    double series = 1;
    for (int term = 8; term > 0; term--)
        series = 1 - (term - 0.5) / (x * x) * series;
    return series / (x * hostcuda::root_of_pi);
}
inline double normcdf(double x)
{
    return std::erfc(-x / hostcuda::root_of_2) / 2;
}
inline double normcdfinv(double x)
{
    return -hostcuda::root_of_2 * erfcinv(2 * x);
}
inline double rcbrt(double x)
{
    return 1 / std::cbrt(x);
}
/* For multiples of 1/2, sinpi and cospi give exactly 0, 1 or -1. */
inline double sinpi(double x)
{
    double part = x - hostcuda::nearest_even(x);
    return part == 0 || part == 1 || part == -1 ? std::copysign(0.0, x) : std::sin(hostcuda::pi * part);
}
inline double cospi(double x)
{
    double part = std::fabs(x - hostcuda::nearest_even(x));
    return part == 0.5 ? 0.0 : std::cos(hostcuda::pi * part);
}
inline double cyl_bessel_i0(double x)
{
    return std::cyl_bessel_i(0, std::fabs(x));
}
inline double cyl_bessel_i1(double x)
{
    return std::copysign(std::cyl_bessel_i(1, std::fabs(x)), x);
}

#define HOSTCUDA_OF_FLOAT(name)                                                                                        \
    inline float name##f(float x)                                                                                      \
    {                                                                                                                  \
        return static_cast<float>(name(static_cast<double>(x)));                                                       \
    }
HOSTCUDA_OF_FLOAT(erfcinv)
HOSTCUDA_OF_FLOAT(erfinv)
HOSTCUDA_OF_FLOAT(erfcx)
HOSTCUDA_OF_FLOAT(normcdf)
HOSTCUDA_OF_FLOAT(normcdfinv)
HOSTCUDA_OF_FLOAT(rcbrt)
HOSTCUDA_OF_FLOAT(sinpi)
HOSTCUDA_OF_FLOAT(cospi)
HOSTCUDA_OF_FLOAT(cyl_bessel_i0)
HOSTCUDA_OF_FLOAT(cyl_bessel_i1)
#undef HOSTCUDA_OF_FLOAT

inline void sincospi(double x, double *sine, double *cosine)
{
    *sine = sinpi(x);
    *cosine = cospi(x);
}
inline void sincospif(float x, float *sine, float *cosine)
{
    *sine = sinpif(x);
    *cosine = cospif(x);
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

/* Norms of two, three and four numbers and of an array, and their reciprocals. */
#define HOSTCUDA_NORMS(type, suffix, array_suffix)                                                                     \
    inline type rhypot##suffix(type x, type y)                                                                         \
    {                                                                                                                  \
        return 1 / std::hypot(x, y);                                                                                   \
    }                                                                                                                  \
    inline type norm3d##suffix(type x, type y, type z)                                                                 \
    {                                                                                                                  \
        return std::hypot(x, y, z);                                                                                    \
    }                                                                                                                  \
    inline type norm4d##suffix(type x, type y, type z, type w)                                                         \
    {                                                                                                                  \
        return std::hypot(std::hypot(x, y), z, w);                                                                     \
    }                                                                                                                  \
    inline type rnorm3d##suffix(type x, type y, type z)                                                                \
    {                                                                                                                  \
        return 1 / std::hypot(x, y, z);                                                                                \
    }                                                                                                                  \
    inline type rnorm4d##suffix(type x, type y, type z, type w)                                                        \
    {                                                                                                                  \
        return 1 / norm4d##suffix(x, y, z, w);                                                                         \
    }                                                                                                                  \
    inline type norm##array_suffix(int count, const type *numbers)                                                     \
    {                                                                                                                  \
        type result = 0;                                                                                               \
        for (int i = 0; i < count; i++)                                                                                \
            result = std::hypot(result, numbers[i]);                                                                   \
        return result;                                                                                                 \
    }                                                                                                                  \
    inline type rnorm##array_suffix(int count, const type *numbers)                                                    \
    {                                                                                                                  \
        return 1 / norm##array_suffix(count, numbers);                                                                 \
    }
HOSTCUDA_NORMS(double, , )
HOSTCUDA_NORMS(float, f, f)
#undef HOSTCUDA_NORMS

#endif
