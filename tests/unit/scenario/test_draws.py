"""Keyed draws: fixed numbers, no collisions, no visible pattern."""

import itertools

import numpy as np
from scipy import stats

from tasksim.scenario import draws
from tasksim.scenario.draws import Stream

ALPHA = 1e-6  # of one test here; seeds are fixed, so a failure is a change in code


def key(seed: int = 1, replication: int = 0, entity: int = 0) -> int:
    return draws.entity_key(draws.run_key(seed, replication), entity)


def test_the_finaliser_is_splitmix64s() -> None:
    # First outputs of SplitMix64 seeded with 0 (Vigna, splitmix64.c).
    state = 0
    outputs = []
    for _ in range(3):
        state = state + draws.ENTITY_STEP & draws.MASK64
        outputs.append(draws.mix64(state))
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_draws_never_change() -> None:
    found = [
        draws.draw_u64(key(1), Stream.DURATION),
        draws.draw_u64(key(1, 3, 7), Stream.GET_REPLY_LEG, 5),
        draws.draw_u64(key(2**63 - 1, 9, 2**36 - 1), Stream.CREATED_LOST, 2**32 - 1),
    ]
    assert [f"{u:016x}" for u in found] == GOLDEN


GOLDEN = ["b07ef89d901ae8ee", "ae2d96763623e123", "2b1a7bbb5a7f7216"]


def test_streams_have_numbers_of_their_own() -> None:
    assert len(set(Stream)) == len(Stream.__members__)


def test_addresses_do_not_meet() -> None:
    words = {
        draws.draw_u64(key(seed, replication, entity), stream, ordinal)
        for seed, replication, entity, stream, ordinal in itertools.product(
            range(3), range(3), range(200), (0, 1, 36, 37), range(12)
        )
    }
    assert len(words) == 3 * 3 * 200 * 4 * 12


def test_words_are_uniform_along_entities_and_along_ordinals() -> None:
    along_entities = [draws.draw_u64(key(entity=i), Stream.DURATION) for i in range(100_000)]
    one = key()
    along_ordinals = [draws.draw_u64(one, Stream.GET_REPLY_LEG, i) for i in range(100_000)]
    for words in (along_entities, along_ordinals):
        high = np.bincount([u >> 56 for u in words], minlength=256)
        low = np.bincount([u & 255 for u in words], minlength=256)
        for counts in (high, low):
            assert stats.chisquare(counts).pvalue > ALPHA
        units = np.array([draws.unit_from_u64(u) for u in words])
        assert stats.kstest(units, "uniform").pvalue > ALPHA


def test_neighbouring_draws_are_not_correlated() -> None:
    runs = {
        "streams": ([key(entity=i) for i in range(20_000)], (0, 0), (1, 0)),
        "ordinals": ([key(entity=i) for i in range(20_000)], (36, 0), (36, 1)),
    }
    for keys, first, second in runs.values():
        a = [draws.unit_from_u64(draws.draw_u64(k, *first)) for k in keys]
        b = [draws.unit_from_u64(draws.draw_u64(k, *second)) for k in keys]
        assert stats.pearsonr(a, b).pvalue > ALPHA


def test_one_bit_of_an_address_turns_half_of_the_word() -> None:
    """Binomial, 64 x 4,000 bits a place: six standard errors; false alarms below 1e-6 in all."""
    for bit in (0, 1, 7, 31):
        for stream in (Stream.DURATION, Stream.GET_REPLY_LEG):
            turned = 0
            for entity in range(2_000):
                word = draws.draw_u64(key(entity=entity), stream)
                turned += (word ^ draws.draw_u64(key(entity=entity ^ 1 << bit), stream)).bit_count()
                turned += (word ^ draws.draw_u64(key(entity=entity), stream, 1 << bit)).bit_count()
            assert abs(turned / (64 * 4_000) - 0.5) < 6 * 0.5 / (64 * 4_000) ** 0.5


def test_seeds_and_replications_give_runs_of_their_own() -> None:
    seeds = (*range(50), 2**32, 2**63 - 1)
    runs = {draws.run_key(seed, replication) for seed in seeds for replication in range(50)}
    assert len(runs) == len(seeds) * 50


def test_a_unit_is_below_one_and_may_be_zero() -> None:
    assert draws.unit_from_u64(0) == 0.0
    assert draws.unit_from_u64(2**64 - 1) == 1 - 2**-53


def test_shares_of_nothing_and_of_all_are_exact() -> None:
    assert draws.threshold_from_share(0.0) == 0
    assert draws.threshold_from_share(1.0) == 2**64
    assert draws.threshold_from_share(0.5) == 2**63


def test_shares_may_be_compared_in_53_bits() -> None:
    for share in (0.0, 1e-9, 0.02, 1 / 3, 0.5, 0.999_999, 1.0):
        end = draws.threshold_from_share(share)
        assert abs(end / 2**64 - share) <= 2.0**-53
        for u in (0, max(end - 1, 0), min(end, 2**64 - 1), 2**64 - 1):
            assert (u < end) == (u >> 11 < end >> 11)


def test_bands_take_their_shares_and_the_last_takes_the_rest() -> None:
    ends = draws.thresholds_from_shares([0.25, 0.5, 0.25])
    assert [draws.band_of(ends, int(x * 2**64)) for x in (0.0, 0.24, 0.25, 0.74, 0.75, 0.99)] == [
        0, 0, 1, 1, 2, 2,
    ]  # fmt: skip
    assert draws.band_of(draws.thresholds_from_shares([1.0]), 2**64 - 1) == 0


def test_whole_numbers_below_a_count_cover_it() -> None:
    assert draws.below(7, 0) == 0
    assert draws.below(7, 2**64 - 1) == 6
    found = {draws.below(7, draws.draw_u64(key(entity=i), 1)) for i in range(200)}
    assert found == set(range(7))
