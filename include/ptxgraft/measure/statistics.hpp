#pragma once
/// @file measure/statistics.hpp
/// What measured times say: which of two is faster, by how much, how sure that is, and how many rounds it
/// takes. Numbers in, numbers out: no device.
///
/// The datum is a **round**: all variants are measured in it, close together and in a random order, and what
/// counts is the logarithm of the ratio of two times of one round. Drift, clocks and temperature are then
/// common to both and cancel; and if two variants are equally fast, a round's logarithm is as likely positive
/// as negative, whatever the noise looks like. On that alone the tests here rest: Wilcoxon's signed-rank
/// test, exact for up to `most_exact_rounds`, with the Hodges-Lehmann estimate and interval that belong to
/// it.
///
/// @code
/// auto ratios = log_ratios(baseline_milliseconds, variant_milliseconds);   // one of each a round
/// auto result = compare(*ratios);
/// if (result->verdict == Verdict::faster) std::cout << "takes " << result->ratio << " of the time\n";
/// @endcode
///
/// Numbers that are no times (zero, negative, infinite, NaN) are Errc::argument_invalid with their `index`:
/// none is ever averaged. Threads: every function may be called by any number at once.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft::measure {

enum class Verdict : std::uint8_t {
    faster,  ///< than the baseline
    slower,
    same,    ///< the whole interval is within the least effect
    unsure,  ///< the rounds do not say: a result, and no error
};
[[nodiscard]] PTXGRAFT_API std::string_view name(Verdict verdict);  ///< "faster"

/// When a difference is one.
struct CompareOptions {
    /// How often two equal variants may be told apart, and 1 - alpha the confidence of the interval.
    double alpha = 0.05;
    /// Smaller differences are none: |ratio - 1|. What a session may judge is in its Calibration.
    double least_effect = 0.005;
    /// The part of the rounds in which the faster one has to win, ties counting half. A significant
    /// difference of two bimodal series is one that this refuses.
    double separation = 0.9;
};

/// Two variants.
struct Comparison {
    Verdict verdict = Verdict::unsure;
    std::uint32_t rounds = 0;
    /// The variant's time over the baseline's: below 1 it is faster. The Hodges-Lehmann estimate.
    double ratio = 1;
    double low = 1, high = 1;    ///< its interval; 0 and infinity where the rounds are too few for any
    double median = 1;           ///< of the rounds' ratios
    double p = 1;                ///< of equal variants showing so much or more, on either side
    double superiority = 0.5;    ///< the part of the rounds in which the variant was faster, ties half
    double ratio_in_cycles = 1;  ///< as `ratio`; 1 where no cycles are known
};

inline constexpr std::uint32_t most_exact_rounds = 128;  ///< beyond, the normal approximation is taken

/// ln(variant / baseline), round by round. Errors: Errc::argument_invalid for different numbers of rounds and
/// for what is no time.
[[nodiscard]] PTXGRAFT_API Expected<std::vector<double>> log_ratios(std::span<const double> baseline,
                                                                    std::span<const double> variant);

/// The verdict on a variant. It is `faster` or `slower` where all of this holds: `p` is at most alpha; the
/// ratio is at least `least_effect` from 1; one of them wins in `separation` of the rounds; and in cycles
/// the ratio lies on the same side by as much, if cycles are known (`in_cycles`, as many as `rounds`, or
/// none). Of no rounds: `unsure`. Errors: Errc::argument_invalid.
[[nodiscard]] PTXGRAFT_API Expected<Comparison> compare(std::span<const double> rounds,
                                                        std::span<const double> in_cycles = {},
                                                        const CompareOptions& options = {});

/// Rounds that show an effect, where one round's logarithm varies by `sigma` (Calibration::sigma):
/// ((z(1 - alpha / 2) + z(power)) sigma / ln(1 + effect))^2, plus z(1 - alpha / 2)^2 / 2 as the spread is not
/// known beforehand (Guenther 1981), times pi / 3, the price of ranks; and never less than the signed-rank
/// test needs to come to alpha at all. Errors: Errc::argument_invalid for an effect, alpha or power outside
/// of (0, 1), and a sigma below 0.
struct RoundsWanted {
    double effect = 0.005, sigma = 0.0025, alpha = 0.05, power = 0.8;
};
[[nodiscard]] PTXGRAFT_API Expected<std::uint32_t> rounds_needed(const RoundsWanted& wanted);

/// How a test that looks several times spends its alpha.
struct SequentialOptions {
    CompareOptions compare = {};
    std::uint32_t group = 8;   ///< rounds between two looks
    std::uint32_t groups = 2;  ///< looks, at most
};

/// A test that may end early: it looks behind each group of rounds, and at each look at an alpha of its own.
/// What is spent up to a part t of the rounds is alpha ln(1 + (e - 1) t), the spending function of Pocock's
/// type (Lan and DeMets 1983); a look has what came since the last one, so that by Boole's inequality all
/// looks together find a difference between equals at most alpha of the time.
class PTXGRAFT_API SequentialTest {
  public:
    /// Errors: Errc::argument_invalid for no group, no rounds in one, and options of compare() that are none.
    [[nodiscard]] static Expected<SequentialTest> make(const SequentialOptions& options);
    struct Look {
        Comparison comparison;
        double alpha = 0;      ///< of this look
        bool is_over = false;  ///< it is decided, or was the last look
    };
    /// Looks at all rounds so far: a group more than the last time. A comparison that is `same` for the
    /// look's own alpha is over too. Errors: Errc::argument_invalid, also when it was over.
    [[nodiscard]] Expected<Look> look(std::span<const double> rounds, std::span<const double> in_cycles = {});

  private:
    explicit SequentialTest(const SequentialOptions& options) : options_(options) {}
    SequentialOptions options_;
    std::uint32_t looks_ = 0;
    bool is_over_ = false;
};

/// What a kernel compared with itself shows of a device.
struct Calibration {
    std::uint32_t rounds = 0;
    double sigma =
        0;            ///< of one round's logarithm: the spread of its inner 80 %, as of a normal distribution
    double bias = 0;  ///< the estimate of the logarithm, which should be 0
    double p = 1;     ///< of a bias so large by chance
    double milliseconds = 0;  ///< the median time
    /// The smallest difference that may be judged: 0.5 %, or 2 sigma where that is more.
    [[nodiscard]] double least_effect(double wanted = 0.005) const {
        return wanted < 2 * sigma ? 2 * sigma : wanted;
    }
};
/// Of rounds of a kernel against itself; `milliseconds` are the times of the kernel in them. Errors:
/// Errc::argument_invalid, also for less than 8 rounds.
[[nodiscard]] PTXGRAFT_API Expected<Calibration> calibrate(std::span<const double> rounds,
                                                           std::span<const double> milliseconds);

/// What may change between two calibrations of a session.
struct StabilityOptions {
    double most_drift = 0.05;     ///< of the time, as a part
    double most_sigma_ratio = 2;  ///< of the spread, which may fall; one below `least_sigma` counts as that
    double least_sigma = 0.001;
    double least_p = 0.001;  ///< a bias that is less probable, and larger than what may be judged, is one
};
/// Whether a device changed so much between two calibrations that results in between are noise; why, in
/// words, or empty.
[[nodiscard]] PTXGRAFT_API std::string moved(const Calibration& begin, const Calibration& end,
                                             const StabilityOptions& options = {});

/// A shape's speed: the baseline's time over the variant's.
struct ShapeSpeed {
    double speedup = 1;
    double roofline = 0;  ///< what the speedup would be at the roofline: no shape counts for more; 0: unknown
};
struct OverallSpeed {
    double speedup = 1;           ///< the geometric mean
    double worst = 1;             ///< of the shape that gains least
    std::size_t worst_shape = 0;  ///< its index
    std::uint32_t clipped = 0;    ///< shapes that were above their roofline: measured wrong
};
/// Errors: Errc::argument_invalid for no shapes, and speeds that are none.
[[nodiscard]] PTXGRAFT_API Expected<OverallSpeed> overall(std::span<const ShapeSpeed> shapes);

}  // namespace ptxgraft::measure
