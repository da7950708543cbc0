"""How many tasks a statement needs: thresholds, half-widths and sample sizes of tests."""

import math

from scipy import stats

from tasksim.theory.validity import (
    require,
    require_count,
    require_level,
    require_not_negative,
    require_positive,
)


def bonferroni_threshold(tests: int, suite_alpha: float = 1e-6) -> float:
    """Threshold of |z| for each of m two-sided tests: Phi^-1(1 - alpha / (2 m)).

    Source: Bonferroni. Valid when: the statistic is normal, far out in its tails too.
    """
    require_count(1, tests=tests)
    require_level(suite_alpha=suite_alpha)
    return float(stats.norm.isf(suite_alpha / (2 * tests)))


def distribution_half_width(samples: int, alpha: float) -> float:
    """Half-width of a band that holds the whole distribution function: sqrt(ln(2/alpha) / (2 n)).

    Source: Dvoretzky, Kiefer & Wolfowitz 1956; Massart 1990. Valid when: samples are independent.
    """
    require_count(1, samples=samples)
    require_level(alpha=alpha)
    return math.sqrt(math.log(2 / alpha) / (2 * samples))


def bounded_mean_half_width(reach: float, samples: int, alpha: float) -> float:
    """Half-width for the mean of values within an interval of a given length.

    Formula: reach sqrt(ln(2/alpha) / (2 n)). Source: Hoeffding 1963.
    Valid when: samples are independent and bounded; at any n.
    """
    require_positive(reach=reach)
    return reach * distribution_half_width(samples, alpha)


def samples_for_bias(bias_share: float, cv: float, alpha: float, power: float) -> float:
    """Samples needed to see a relative bias: ((z_(alpha/2) + z_beta) cv / delta)^2.

    Source: normal power formula. Valid when: the mean of the samples is normal.
    """
    require_positive(bias_share=bias_share, cv=cv)
    require_level(alpha=alpha, power=power)
    quantiles = stats.norm.isf(alpha / 2) + stats.norm.isf(1 - power)
    return float((quantiles * cv / bias_share) ** 2)


def stage_alpha(alpha: float, stages: int = 2) -> float:
    """False-alarm rate of each stage when a failure is tested afresh: alpha^(1/stages).

    Source: independence of seeds. Valid when: a later stage runs only after a failure.
    """
    require_level(alpha=alpha)
    require_count(1, stages=stages)
    return float(alpha ** (1 / stages))


def staged_alpha(alphas: list[float]) -> float:
    """False-alarm rate of stages that must all fail: their product.

    Source: independence of seeds. Valid when: every stage has fresh seeds.
    """
    require(bool(alphas), "a test has at least one stage")
    for alpha in alphas:
        require_level(alpha=alpha)
    return math.prod(alphas)


def quantile_coverage(samples: int, level: float, low_rank: int, high_rank: int) -> float:
    """P(the quantile lies between two order statistics): P(lo <= Bin(n, p) <= hi - 1).

    Source: Conover 1999; David & Nagaraja 2003. Valid when: the law is continuous.
    """
    require_count(1, samples=samples, low_rank=low_rank)
    require(low_rank < high_rank <= samples, f"ranks {low_rank} to {high_rank} of {samples}")
    require_level(level=level)
    law = stats.binom(samples, level)
    return float(law.cdf(high_rank - 1) - law.cdf(low_rank - 1))


def exponential_false_alarm(samples: int, threshold: float) -> float:
    """True false-alarm rate of |z| > threshold for the mean of exponential samples.

    Formula: P(G > n + z sqrt n) + P(G < n - z sqrt n), G gamma of shape n. Source: exact.
    Valid when: samples are independent.
    """
    require_count(1, samples=samples)
    require_positive(threshold=threshold)
    reach, law = threshold * math.sqrt(samples), stats.gamma(samples)
    return float(law.sf(samples + reach) + law.cdf(max(0.0, samples - reach)))


def waiting_variance_constant(load: float) -> float:
    """Variance of the mean of n successive waiting times, times n: M/M/1, mean work 1.

    Formula: rho (2 + 5 rho - 4 rho^2 + rho^3) / (1 - rho)^4.
    Source: Blomqvist 1967; Daley 1968; Whitt 1989. Valid when: in steady state, n large.
    """
    require_level(load=load)
    return load * (2 + 5 * load - 4 * load**2 + load**3) / (1 - load) ** 4


def tasks_for_waiting(load: float, half_width_share: float, alpha: float = 0.05) -> float:
    """Tasks needed for a relative half-width of the mean waiting time, M/M/1.

    Formula: (z_(alpha/2) / (h E W))^2 sigma^2, E W = rho / (1 - rho). Source: Whitt 1989.
    Valid when: in steady state, the number is large.
    """
    require_level(load=load, alpha=alpha)
    require_positive(half_width_share=half_width_share)
    z = float(stats.norm.isf(alpha / 2))
    return (z * (1 - load) / (half_width_share * load)) ** 2 * waiting_variance_constant(load)


def kolmogorov_threshold(samples: int, alpha: float) -> float:
    """Critical value of the one-sample Kolmogorov-Smirnov statistic, two-sided.

    Source: Kolmogorov 1933; Marsaglia et al. 2003 for finite samples. Valid when: samples are
    independent, from a continuous law whose parameters were not fitted on them.
    """
    require_count(1, samples=samples)
    require_level(alpha=alpha)
    return float(stats.kstwo.isf(alpha, samples))


def uniform_transport_constant() -> float:
    """sqrt(n) E W_1(sample, law) for the uniform law on (0, 1): sqrt(2/pi) pi/8.

    Source: del Barrio, Gine & Matran 1999. Valid when: samples are independent and many.
    """
    return math.sqrt(2 / math.pi) * math.pi / 8


def excess_cost_bound(
    samples: int, delta: float, polls_max: int, end_s: float, *, poll: float, delay_per_s: float
) -> float:
    """Bound on the excess cost of the schedule that is best on a sample, safe up to delta.

    Formula: 2 sqrt(ln(2/delta) / (2 n)) (c1 K + c2 T).
    Source: Massart 1990 and the telescoped cost.
    Valid when: work ends by T, schedules have K polls at most. The bound is loose.
    """
    require_count(1, polls_max=polls_max)
    require_positive(end_s=end_s)
    require_not_negative(poll=poll, delay_per_s=delay_per_s)
    return 2 * distribution_half_width(samples, delta) * (poll * polls_max + delay_per_s * end_s)


def hedge_regret(tasks: int, schedules: int, cost_max: float) -> float:
    """Regret of choosing among M schedules by exponential weights: B sqrt(n ln M / 2).

    Source: Freund & Schapire 1997; Cesa-Bianchi & Lugosi 2006, theorem 2.2.
    Valid when: the requester learns when each task ended, and costs lie in [0, B].
    """
    require_count(1, tasks=tasks, schedules=schedules)
    require_positive(cost_max=cost_max)
    return cost_max * math.sqrt(tasks * math.log(schedules) / 2)
