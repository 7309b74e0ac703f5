"""Inputs for miscellaneous programs: satellite time series, option prices, points in space."""

import math

from .data_sets import array_of, data_set, local_data_set, numbers, uniform

DAYS = [20170217, 20170317, 20170421, 20170616, 20170915, 20171215, 20180119, 20180615]


def pixels(source, count, size, cloudy):
    """A time series per pixel: seasons, a trend, sometimes a break, noise, and missing values
    for clouds."""
    items, missing = [], float("nan")
    for _ in range(count):
        height, phase, trend = source.random(), 6 * source.random(), 0.01 * source.random()
        broken = size * (0.6 + source.random())
        for t in range(size):
            value = height * math.sin(2 * math.pi * t / 12 + phase) + trend * t + 0.3 * source.random()
            items.append(missing if source.random() < cloudy else value - (2 if t > broken else 0))
    return array_of("f32", (count, size), items)


@data_set("misc/bfast/bfast.fut", 2048, 414)
@data_set("misc/bfast/bfast.fut", 8192, 235)
def clear(source, count, size):
    yield numbers("i32", 3, size * 55 // 100) + numbers("f32", 12, 0.25, 1.736126)
    yield pixels(source, count, size, 0.1)


@data_set("misc/bfast/bfast-cloudy.fut", 2048, 414)
@data_set("misc/bfast/bfast-cloudy.fut", 8192, 235)
def cloudy(source, count, size):
    yield numbers("i32", 1, 3, size * 55 // 100) + numbers("f32", 12, 0.25, 2.39)
    yield array_of("i32", (size,), range(1, size + 1))
    yield pixels(source, count, size, 0.5)


def price(strike, years, deviation):
    """The price of a call option with this strike on an asset whose price is 1."""
    def below(x):
        return (1 + math.erf(x / math.sqrt(2))) / 2

    spread = deviation * math.sqrt(years)
    high = (-math.log(strike) + spread * spread / 2) / spread
    return below(high) - strike * below(high - spread)


@data_set("misc/heston/heston32.fut", 200, 40)
@data_set("misc/heston/heston32.fut", 1000, 40)
@data_set("misc/heston/heston64.fut", 200, 40)
@data_set("misc/heston/heston64.fut", 1000, 40)
def quotes(_source, count, rounds):
    """Option prices for several maturities and strikes, with a volatility smile."""
    each = count // len(DAYS)
    days, strikes, prices = [], [], []
    for at, day in enumerate(DAYS):
        for i in range(each):
            strike = 0.6 + 0.8 * i / each
            days.append(day)
            strikes.append(strike)
            prices.append(price(strike, 0.06 + 0.18 * at, 0.2 + 0.3 * (strike - 1.1) ** 2))
    yield numbers("i32", rounds, 20, 40, 20170126)
    yield array_of("i32", (len(days),), days)
    yield array_of("f64", (len(days),), strikes)
    yield array_of("f64", (len(days),), prices)


for width in [32, 64]:
    local_data_set(f"misc/heston/heston{width}.fut", "heston32/1062_quotes.in")


@data_set("misc/knn-by-kdtree/buildKDtree.fut", 32, 8192, 8)
@data_set("misc/knn-by-kdtree/buildKDtree.fut", 32, 65536, 8)
def references(source, leaf, points, coordinates):
    yield numbers("i32", leaf)
    yield uniform(source, "f32", (points, coordinates), 0, 1)
