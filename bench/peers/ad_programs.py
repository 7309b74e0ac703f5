"""The programs of the figure `ad` in JAX.

A program is a function of the arguments that returns primal and derivative, functions of the same arguments.
"""

import jax
import numpy as np
from jax import lax, numpy as jnp
from jax.scipy.special import erf, gammaln, logsumexp


def gradient(function, *positions):
    """A function with one result, and its gradient by some of the arguments."""
    return function, jax.grad(function, argnums=positions)


def mixture(xs, _alphas, _means, _icfs):
    n, d = xs.shape
    rows, columns = np.triu_indices(d, 1)
    constant = d * (d + 1) * -np.log(2) / 2 - (
        d * (d - 1) / 4 * np.log(np.pi) + sum(gammaln((d + 1 - j) / 2) for j in range(d))
    )

    def likelihood(xs, alphas, means, icfs):
        logs, below = icfs[:, :d], icfs[:, d:]
        # The entries below the diagonal come by columns.
        factors = jnp.zeros((len(alphas), d, d)).at[:, columns, rows].set(below)
        factors = factors.at[:, np.arange(d), np.arange(d)].set(jnp.exp(logs))
        distances = jnp.einsum("kij,nkj->nki", factors, xs[:, None, :] - means)
        terms = alphas + logs.sum(1) - (distances ** 2).sum(2) / 2
        prior = len(alphas) * constant - ((jnp.exp(logs) ** 2).sum() + (below ** 2).sum()) / 2
        return logsumexp(terms, axis=1).sum() - n * (logsumexp(alphas) + d / 2 * np.log(2 * np.pi)) + prior

    return gradient(likelihood, 1, 2, 3)


def kmeans(_points, _centres):
    def cost(points, centres):
        squares = (points * points).sum(1)[:, None] - 2 * points @ centres.T + (centres * centres).sum(1)
        return squares.min(1).sum()

    def step(points, centres):
        slope = jax.grad(cost, argnums=1)
        found, diagonal = jax.jvp(lambda c: slope(points, c), [centres], [jnp.ones_like(centres)])
        return found / diagonal

    return cost, step


def least_squares(n, _x):
    points = jnp.linspace(-1, 1, int(n))

    def objective(_n, x):
        return ((jnp.sign(points) - jnp.polyval(x[::-1], points)) ** 2).sum() / 2

    return gradient(objective, 1)


def determinant(_a):
    def expand(factors, matrices):
        m = matrices.shape[-1]
        columns = np.array([[c for c in range(m) if c != j] for j in range(m)])
        signs = np.array([(-1.0) ** j for j in range(m)])
        minors = matrices[:, 1:, :][:, :, columns].transpose(0, 2, 1, 3)
        return (factors[:, None] * signs * matrices[:, 0]).reshape(-1), minors.reshape(-1, m - 1, m - 1)

    def value(a):
        factors, matrices = jnp.ones(1), a[None]
        while matrices.shape[-1] > 1:
            factors, matrices = expand(factors, matrices)
        return (factors * matrices[:, 0, 0]).sum()

    return value, jax.grad(value)


def differential_equation(steps, _x):
    h = 2 / int(steps)

    def solve(_steps, x):
        def slope(y):
            return x * jnp.concatenate([jnp.ones(1), y[:-1]])

        def step(_, y):
            k1 = slope(y)
            k2 = slope(y + h / 2 * k1)
            k3 = slope(y + h / 2 * k2)
            k4 = slope(y + h * k3)
            return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

        return lax.fori_loop(0, int(steps), step, jnp.zeros_like(x))

    return solve, jax.grad(lambda steps, x: solve(steps, x).sum(), argnums=1)


def rotate(rotation, p):
    square = rotation @ rotation
    theta = jnp.sqrt(square)
    axis = rotation / theta
    return jnp.cos(theta) * p + jnp.sin(theta) * jnp.cross(axis, p) + (1 - jnp.cos(theta)) * (axis @ p) * axis


def bundle_adjustment(*_args):
    def error(parameters, feature):
        camera, p, weight = parameters[:11], parameters[11:14], parameters[14]
        moved = rotate(camera[:3], p - camera[3:6])
        flat = moved[:2] / moved[2]
        square = flat @ flat
        distortion = 1 + camera[9] * square + camera[10] * square * square
        return weight * (flat * distortion * camera[6] + camera[7:9] - feature)

    def parameters(cameras, points, weights, of_camera, of_point):
        return jnp.concatenate([cameras[of_camera], points[of_point], weights[:, None]], axis=1)

    def errors(cameras, points, weights, features, of_camera, of_point):
        found = jax.vmap(error)(parameters(cameras, points, weights, of_camera, of_point), features)
        return found, 1 - weights * weights

    def jacobian(cameras, points, weights, features, of_camera, of_point):
        found = jax.vmap(jax.jacrev(error))(parameters(cameras, points, weights, of_camera, of_point), features)
        return found, jax.vmap(jax.grad(lambda weight: 1 - weight * weight))(weights)

    return errors, jacobian


def lstm(_state, _sequence, main, _extra):
    def predict(main, extra, state, x):
        states, x = [], x * extra[0]
        for i in range(len(main)):
            (weight, bias), (hidden, cell) = main[i], state[i]
            forget = jax.nn.sigmoid(x * weight[0] + bias[0])
            ingate = jax.nn.sigmoid(hidden * weight[1] + bias[1])
            outgate = jax.nn.sigmoid(x * weight[2] + bias[2])
            change = jnp.tanh(hidden * weight[3] + bias[3])
            cell = cell * forget + ingate * change
            x = outgate * jnp.tanh(cell)
            states.append(jnp.stack([x, cell]))
        return jnp.stack(states), x * extra[1] + extra[2]

    def loss(state, sequence, main, extra):
        def step(state, pair):
            state, output = predict(main, extra, state, pair[0])
            norm = jnp.log(jnp.exp(output).sum() + 2)
            return state, (pair[1] * (output - norm)).sum()

        _, terms = lax.scan(step, state, (sequence[:-1], sequence[1:]))
        return -terms.sum() / ((len(sequence) - 1) * sequence.shape[1])

    return gradient(loss, 2, 3)


def affine(rows):
    """A transform from its entries."""
    return jnp.stack([jnp.stack([jnp.asarray(x, float) for x in row]) for row in rows])


def compose(a, b):
    return (a[:, :3] @ b).at[:, 3].add(a[:, 3])


def euler(angles):
    (sx, sz, sy), (cx, cz, cy) = jnp.sin(angles), jnp.cos(angles)
    return affine([
        [cy * cz, -cx * sz + sx * sy * cz, sx * sz + cx * sy * cz, 0],
        [cy * sz, cx * cz + sx * sy * sz, -sx * cz + cx * sy * sz, 0],
        [-sy, sx * cy, cx * cy, 0],
    ])


def rotation(r):
    norm = jnp.sqrt(r @ r)
    x, y, z = r / norm
    s, c = jnp.sin(norm), jnp.cos(norm)
    d = 1 - c
    return affine([
        [x * x * d + c, x * y * d - z * s, x * z * d + y * s],
        [x * y * d + z * s, y * y * d + c, y * z * d - x * s],
        [x * z * d - y * s, y * z * d + x * s, z * z * d + c],
    ])


def pose(parents, relatives, inverses, weights, positions, theta):
    """The positions of all vertices."""
    fingers = jnp.zeros((5, 4, 3)).at[:, :3, 0].set(theta[6:].reshape(5, 4)[:, np.array([0, 2, 3])])
    fingers = fingers.at[:, 0, 1].set(theta[6:].reshape(5, 4)[:, 1])
    angles = jnp.concatenate([jnp.zeros((2, 3)), fingers.reshape(20, 3)])
    joints = jax.vmap(lambda relative, angle: compose(relative, euler(angle)))(relatives, angles)

    def attach(bone, absolutes):
        parent = parents[bone]
        moved = compose(absolutes[parent], joints[bone])
        return absolutes.at[bone].set(jnp.where(parent < 0, joints[bone], moved))

    transforms = jax.vmap(compose)(lax.fori_loop(0, 22, attach, joints), inverses)
    skinned = jnp.einsum("vb,bij,vj->vi", weights, transforms[:, :, :3], positions) + weights @ transforms[:, :, 3]
    return skinned @ rotation(theta[:3]).T + theta[3:6]


def hand_simple(*_args):
    def errors(parents, relatives, inverses, weights, positions, vertices, points, theta):
        return points - pose(parents, relatives, inverses, weights, positions, theta)[vertices]

    def jacobian(*args):
        return jnp.moveaxis(jax.jacfwd(errors, argnums=7)(*args), -1, 0)

    return errors, jacobian


def hand_complicated(*_args):
    def errors(parents, relatives, inverses, weights, positions, triangles, points, theta, us):
        corners = pose(parents, relatives, inverses, weights, positions, theta)[triangles]
        shares = jnp.concatenate([us, 1 - us.sum(1, keepdims=True)], axis=1)
        return points - (shares[:, :, None] * corners).sum(1)

    def jacobian(*args):
        theta, us = args[7:]
        seeds = jnp.eye(28)

        def row(seed):
            tangent = jnp.broadcast_to(seed[26:], us.shape)
            return jax.jvp(lambda theta, us: errors(*args[:7], theta, us), [theta, us], [seed[:26], tangent])[1]

        return jax.vmap(row)(seeds)

    return errors, jacobian


def logistic(*_args):
    def loss(examples, labels, weights):
        scores = examples @ weights
        return (jax.nn.softplus(scores) - labels * scores).mean() + 0.01 / 2 * (weights * weights).sum()

    return gradient(loss, 2)


def perceptron(*_args):
    def loss(xs, labels, w1, b1, w2, b2):
        scores = jax.nn.relu(xs @ w1 + b1) @ w2 + b2
        return (logsumexp(scores, axis=1) - scores[jnp.arange(len(labels)), labels]).mean()

    return gradient(loss, 2, 3, 4, 5)


def black_scholes(*_args):
    def normal(x):
        return (1 + erf(x / np.sqrt(2))) / 2

    def prices(price, strike, volatility, time, rate):
        spread = volatility * jnp.sqrt(time)
        d1 = (jnp.log(price / strike) + (rate + volatility * volatility / 2) * time) / spread
        return price * normal(d1) - strike * jnp.exp(-rate * time) * normal(d1 - spread)

    def greeks(price, strike, volatility, time, rate):
        rates = jnp.full_like(price, rate)
        total = jax.grad(lambda *args: prices(*args).sum(), argnums=(0, 2, 3, 4))
        return total(price, strike, volatility, time, rates)

    return prices, greeks


def heat(steps, *_args):
    def distance(_steps, target, start, conductivity):
        def step(_, grid):
            around = grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]
            change = conductivity[1:-1, 1:-1] * (around - 4 * grid[1:-1, 1:-1])
            return grid.at[1:-1, 1:-1].add(change)

        end = lax.fori_loop(0, int(steps), step, start)
        return ((end - target) ** 2).sum() / 2

    return gradient(distance, 2, 3)


def lattice_boltzmann(steps, *_args):
    weights = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    right = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    down = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])

    def moments(cells):
        return cells.sum(2), cells @ right, cells @ down

    def step(cells, rates):
        mass, px, py = moments(cells)
        ux, uy = px / mass, py / mass
        along = 3 * (ux[:, :, None] * right + uy[:, :, None] * down)
        square = 1.5 * (ux * ux + uy * uy)
        equilibrium = weights * mass[:, :, None] * (1 + along + along * along / 2 - square[:, :, None])
        cells = cells + rates[:, :, None] * (equilibrium - cells)
        return jnp.stack([jnp.roll(cells[:, :, i], (down[i], right[i]), (0, 1)) for i in range(9)], axis=2)

    def energy(_steps, cells, rates):
        end = lax.fori_loop(0, int(steps), lambda _, cells: step(cells, rates), cells)
        mass, px, py = moments(end)
        return ((px * px + py * py) / (2 * mass)).sum()

    return gradient(energy, 1, 2)


def members_of(materials, first, widest):
    """The indices of the nuclides of each lookup, up to the widest material, and which of them exist."""
    indices = first[materials][:, None] + jnp.arange(widest)
    return indices, indices < first[materials + 1][:, None]


def xsbench(_xs, _materials, energies, first, *_args):
    widest, steps = int(np.diff(first).max()), int(energies.shape[1]).bit_length()

    def find(energies, nuclides, xs):
        def halve(_, bounds):
            low, high = bounds
            middle = (low + high) // 2
            above = energies[nuclides, middle] > xs
            open_ = high - low > 1
            return jnp.where(open_ & ~above, middle, low), jnp.where(open_ & above, middle, high)

        low = jnp.zeros(nuclides.shape, int)
        return lax.fori_loop(0, steps, halve, (low, jnp.full_like(low, energies.shape[1] - 1)))[0]

    def total(xs, materials, energies, first, members, tables, densities):
        indices, exist = members_of(materials, first, widest)
        nuclides, xs = members[indices], xs[:, None]
        i = find(energies, nuclides, xs)
        low, high = energies[nuclides, i], energies[nuclides, i + 1]
        share = ((xs - low) / (high - low))[:, :, None]
        below, above = tables[nuclides, i], tables[nuclides, i + 1]
        sections = (below + share * (above - below)).sum(2)
        return jnp.where(exist, densities[indices] * sections, 0).sum()

    return gradient(total, 5, 6)


def rsbench(_xs, _materials, momenta, first, *_args):
    widest, windows = int(np.diff(first).max()), momenta.shape[1]

    def phase(radii, root, momenta):
        phi = radii * root
        shifts = [
            0 * phi, jnp.arctan(phi), jnp.arctan(3 * phi / (3 - phi * phi)),
            jnp.arctan(phi * (15 - phi * phi) / (15 - 6 * phi * phi)),
        ]
        return jnp.exp(-2j * (phi - jnp.choose(momenta, shifts, mode="clip")))

    def total(xs, materials, momenta, first, members, poles, fits, radii, densities):
        indices, exist = members_of(materials, first, widest)
        nuclides, xs = members[indices], xs[:, None]
        root = jnp.sqrt(xs)
        window = jnp.minimum((root * windows).astype(int), windows - 1)
        smooth = xs * fits[nuclides, window].sum(2)
        pole, momentum = poles[nuclides, window], momenta[nuclides, window]
        location, of_total, absorption, fission = (pole[..., i] + 1j * pole[..., i + 1] for i in range(0, 8, 2))
        part = 1j / (location - root[:, :, None]) / xs[:, :, None]
        factor = phase(radii[nuclides[:, :, None], momentum], root[:, :, None], momentum)
        sections = (part * (of_total * factor + absorption + fission)).real.sum(2)
        return jnp.where(exist, densities[indices] * (smooth + sections), 0).sum()

    return gradient(total, 5, 6, 7, 8)


PROGRAMS = {
    "gmm": mixture, "kmeans": kmeans, "llsq": least_squares, "det": determinant, "ode": differential_equation,
    "lse": lambda _xs: (logsumexp, jax.grad(logsumexp)), "ba": bundle_adjustment, "lstm": lstm,
    "simple": hand_simple, "complicated": hand_complicated, "logistic": logistic, "mlp": perceptron,
    "black_scholes": black_scholes, "heat": heat, "lbm": lattice_boltzmann, "xsbench": xsbench, "rsbench": rsbench,
}
