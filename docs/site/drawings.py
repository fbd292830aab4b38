"""One picture per example: a function of its name draws what it found, with the example's own functions.

draw(names, ax)     names: the globals of the example after it ran; ax: matplotlib's axes, a list if AXES says so
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

BLUE, ORANGE, GREY = "#12626f", "#d9822b", "#9aa5ab"
AXES: Final = {"bundle_adjustment": 2, "power_flow": 2, "implicit_diffusion": 3, "diffusion": 2, "mlp": 2}


def logistic(e: dict[str, Any], ax: Any) -> None:
    data, labels = e["read_data"]()
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[:400], order[400:]
    fitted, _ = e["fit"](e["compiled_objective"](data[train], labels[train]), data.shape[1])
    margins = data[test] @ fitted.x
    bins = np.linspace(-12, 12, 41)
    ax.hist(margins[labels[test] < 0].clip(-12, 12), bins, color=ORANGE, alpha=0.8, label="malignant")
    ax.hist(margins[labels[test] > 0].clip(-12, 12), bins, color=BLUE, alpha=0.8, label="benign")
    ax.axvline(0, color="k", lw=0.8)
    ax.set(xlabel="Xw of tumours that were not fitted", ylabel="tumours")
    ax.legend()


def gaussian_process(e: dict[str, Any], ax: Any) -> None:
    features, target = e["read_data"]()
    n = e["TRAIN"]
    theta = e["fit"](e["compiled_objective"](features[:n], target[:n]), features.shape[1]).x
    process = e["predict"](features[:n], target[:n], theta[:-2], theta[-2], theta[-1], features[n:])
    line = e["linear_prediction"](features[:n], target[:n], features[n:])
    ax.plot(target[n:], line, ".", color=GREY, label="linear least squares")
    ax.plot(target[n:], process, ".", color=BLUE, label="Gaussian process")
    ax.plot([-2, 4], [-2, 4], color="k", lw=0.8)
    ax.set(xlabel="compactness, held out", ylabel="predicted")
    ax.legend()


def bundle_adjustment(e: dict[str, Any], axes: Any) -> None:
    matrix = e["derivatives"](e["scene"]()).tocoo()
    axes[0].plot(matrix.col, matrix.row, ",", color=BLUE, rasterized=True)
    axes[0].set(xlim=(0, matrix.shape[1]), ylim=(matrix.shape[0], 0), title=f"Jacobian, {matrix.nnz} entries")
    knot = e["scene"]()[9 * e["CAMERAS"] :].reshape(-1, 3)
    axes[1].scatter(knot[:, 0], knot[:, 1], 8, knot[:, 2], cmap="viridis")
    axes[1].set(title="the scene from above", aspect="equal")


def spectrum(e: dict[str, Any], ax: Any) -> None:
    omega, order = e["omega"].eval(), np.argsort(e["omega"].eval())
    for name, style, color in (("noisy", ".", GREY), ("model", "-", BLUE)):
        ax.plot(omega[order], np.abs(e[name][order]), style, color=color, ms=3, label={"noisy": "data"}.get(name, name))
    ax.set(xlim=(-40, 40), xlabel="ω", ylabel="|H(ω)|")
    ax.legend()


def power_flow(e: dict[str, Any], axes: Any) -> None:
    angles, published = np.degrees(np.angle(e["volts"])), e["buses"]
    axes[0].plot(published["angle_deg"], published["voltage_pu"], "o", color=GREY, label="published")
    axes[0].plot(angles, np.abs(e["volts"]), "+", color=BLUE, label="found")
    axes[0].set(xlabel="angle, degrees", ylabel="voltage, per unit")
    axes[0].legend()
    names = [f"{line['from']:.0f}-{line['to']:.0f}" for line in e["lines"]]
    axes[1].barh(names, e["by_resistance"], color=BLUE)
    axes[1].tick_params(axis="y", labelsize=6)
    axes[1].set(xlabel="MW of losses per unit of resistance")


def heavy_tails(e: dict[str, Any], ax: Any) -> None:
    errors, x = e["errors"] / e["scale"], np.linspace(-9, 9, 400)
    ax.hist(errors, 60, density=True, color=GREY, log=True)
    t, norm = e["scipy"].stats.t, e["scipy"].stats.norm
    ax.plot(x, t.pdf(x, e["degrees"]), color=BLUE, label=f"Student's t, ν = {e['degrees']:.1f}")
    ax.plot(x, norm.pdf(x, scale=e["spread"] / e["scale"]), color=ORANGE, label="normal")
    ax.set(ylim=(1e-4, 1), xlabel="error / scale", ylabel="density")
    ax.legend()


def lifetimes(e: dict[str, Any], ax: Any) -> None:
    seen = np.sort(e["seen"])
    shape, scale = np.exp(e["point"])
    p = np.linspace(0.001, 0.999, 300)
    ax.step(seen, 1 - np.arange(len(seen)) / len(seen), color=GREY, lw=3, label="not failed yet")
    ax.plot(scale * e["quantile"](np.full(300, shape), p)["t"], 1 - p, color=BLUE, label=f"gamma, shape {shape:.2f}")
    ax.axvline(e["limit"], color=ORANGE, ls="--", label="end of the study")
    ax.set(xlim=(0, 14), xlabel="time", ylabel="share")
    ax.legend()


def implicit_diffusion(e: dict[str, Any], axes: Any) -> None:
    side = e["SIDE"]
    for ax, heat, title in ((axes[0], e["heat"], "heat at the start"), (axes[1], e["end"], "at the end")):
        ax.imshow(heat.reshape(side, side), cmap="inferno", vmin=0, vmax=1)
        ax.set(title=title, xticks=[], yticks=[])
    axes[2].plot(e["truth"], color=GREY, lw=3, label="true")
    axes[2].plot(e["guess"], color=BLUE, lw=1, label="found")
    axes[2].set(title="conductivity by edge")
    axes[2].legend()


def diffusion(e: dict[str, Any], axes: Any) -> None:
    for ax, name, title in ((axes[0], "signal", "measured"), (axes[1], "smooth", "where the derivative is 0")):
        ax.imshow(e[name].reshape(20, 30), cmap="RdBu", vmin=-1.5, vmax=1.5)
        ax.set(title=title, xticks=[], yticks=[])


def disease_map(e: dict[str, Any], ax: Any) -> None:
    point = e["fit"](e["marginal"]).x
    found = e["summary"](point, e["CASES"], np.zeros((56, 1)))
    level, observed = point[2] + point[3] * e["OUTDOOR"], e["CASES"] / e["EXPECTED"]
    order = np.argsort(level + found["mode"])
    middle, spread = (level + found["mode"])[order], 1.645 * found["deviation"][order]
    ax.vlines(range(56), np.exp(middle - spread), np.exp(middle + spread), color=GREY)
    ax.plot(np.exp(middle), ".", color=BLUE, label="with the field")
    ax.plot(observed[order], "x", color=ORANGE, label="cases / expected")
    ax.set(xlabel="districts", ylabel="relative risk", yscale="symlog")
    ax.legend()


def pagerank(e: dict[str, Any], ax: Any) -> None:
    names, graph = e["imports"]()
    rank = e["pagerank"](graph, np.eye(len(names))[0])["rank"]
    best = np.argsort(rank)[-12:]
    ax.barh([names[k] for k in best], rank[best], color=BLUE)
    ax.set(xlabel="rank")


def mlp(e: dict[str, Any], axes: Any) -> None:
    weights = e["W1"].get_value()
    tiles = weights[:, :64].reshape(8, 8, 8, 8).transpose(2, 0, 3, 1).reshape(64, 64)
    axes[0].imshow(tiles, cmap="RdBu", vmin=-0.8, vmax=0.8)
    axes[0].set(title="weights of the 64 hidden units", xticks=[], yticks=[])
    _digits(e, axes[1])


def convnet(e: dict[str, Any], ax: Any) -> None:
    _digits(e, ax)


def _digits(e: dict[str, Any], ax: Any) -> None:
    """The confusion matrix."""
    pixels, digits = e["read_data"]()
    test = np.random.default_rng(1).permutation(len(digits))[1500:]
    counts = np.zeros((10, 10))
    np.add.at(counts, (digits[test], e["predict"](pixels[test])), 1)
    ax.imshow(np.sqrt(counts), cmap="Blues")
    for (row, column), count in np.ndenumerate(counts):
        if count:
            ax.text(column, row, int(count), ha="center", va="center", fontsize=6, color="w" if count > 9 else "k")
    ax.set(xlabel="predicted", ylabel="digit", xticks=range(10), yticks=range(10))


def recurrent(e: dict[str, Any], ax: Any) -> None:
    codes = np.array([e["ALPHABET"].index(character) for character in e["TEXT"]])
    rng = np.random.default_rng(0)
    values = [rng.normal(0, shape[0] ** -0.5, shape).astype("float32") for shape in e["SHAPES"].values()]
    e["train"](values, codes, rng)
    text, memory, rows = "Special cases aren't special enough", np.zeros(e["HIDDEN"], "float32"), []
    for character in text:
        found = e["advance"](e["ALPHABET"].index(character), memory, *values)
        memory = found["next_state"]
        rows.append(found["p"])
    ax.imshow(np.array(rows).T, cmap="Blues", aspect="auto", vmin=0, vmax=1)
    ax.set(title="what is expected after each character", yticks=range(0, len(e["ALPHABET"]), 1))
    ax.set_yticklabels([x if x.strip() else "␣" for x in e["ALPHABET"]], fontsize=4)
    ax.set_xticks(range(len(text)), list(text), fontsize=7)


def text_classification(e: dict[str, Any], ax: Any) -> None:
    texts, labels = zip(*e["docstrings"](), strict=True)
    matrix, words = e["bags_of_words"](list(texts))
    target = np.where(labels, 1.0, -1.0)

    def objective(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value = e["classifier"](matrix, target, weights)
        return value["loss"], value["grad_w"]

    weights = e["minimize"](objective, np.zeros(len(words)), jac=True, method="L-BFGS-B").x
    order = np.argsort(weights)
    chosen = [*order[:7], *order[-9:]]
    ax.barh([words[k] for k in chosen], weights[chosen], color=[BLUE if weights[k] > 0 else ORANGE for k in chosen])
    ax.set(xlabel="weight; right: about the network")


def trust_region(e: dict[str, Any], ax: Any) -> None:
    from scipy.optimize import minimize

    features, labels = e["read_data"]()
    for (method, more), color in zip(
        {"L-BFGS-B": {}, "trust-ncg": {"hessp": e["hessp"]}, "trust-exact": {"hess": e["hess"]}}.items(),
        (GREY, ORANGE, BLUE),
        strict=True,
    ):
        given = {name: lambda *rest, f=f: f(features, labels, *rest) for name, f in more.items()}
        values: list[float] = []
        minimize(
            lambda w: e["fun"](features, labels, w), np.zeros(30), jac=True, method=method, tol=1e-9, **given,
            callback=lambda w, values=values: values.append(float(e["fun"](features, labels, w)[0])),
        )  # fmt: skip
        ax.semilogy(np.array(values) - 0.1024169 + 1e-7, color=color, label=method)
    ax.set(xlabel="step", ylabel="loss above the optimum")
    ax.legend()


def mixture_by_chunks(e: dict[str, Any], ax: Any) -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[-3.0, 0.0], [0.0, 3.0], [3.0, 0.0]])
    X = centres[rng.choice(3, 600, p=[0.5, 0.3, 0.2])] + rng.normal(size=(600, 2)) * 0.7
    fun, grad = e["aot"].split(e["mixture"], over="n").minimizer(X=X, chunk_rows=200)
    found = e["minimize"](fun, np.concatenate([centres.ravel() / 2, np.zeros(6)]), jac=grad, method="L-BFGS-B").x
    ax.plot(*X.T, ".", color=GREY, ms=2)
    ax.plot(*centres.T / 2, "o", color=ORANGE, label="start")
    ax.plot(found[0:6:2], found[1:6:2], "o", color=BLUE, label="found")
    for k in range(3):
        ax.add_patch(_circle(found[2 * k : 2 * k + 2], 2 * np.exp(found[6 + k])))
    ax.set_aspect("equal")
    ax.legend()


def shooting(e: dict[str, Any], ax: Any) -> None:
    for duration, color in ((2.0, GREY), (3.0, BLUE), (4.0, ORANGE)):
        best, times = e["steer"](e["DAMPING"], duration), duration * e["SHARES"]
        ax.plot(times, best["torque"], ".", color=color, label=f"{duration:g}: effort {best['effort']:.2f}")
        ax.plot(times, e["by_scipy"](e["DAMPING"], duration)[0], color=color, lw=0.8)
    ax.axhline(0, color="k", lw=0.5)
    ax.set(xlabel="time", ylabel="torque", title="the least effort to swing up; lines: solve_bvp")
    ax.legend(title="duration")


def _circle(centre: np.ndarray, radius: float) -> Any:
    from matplotlib.patches import Circle

    return Circle(tuple(centre), radius, fill=False, color=BLUE)


def eight_schools(e: dict[str, Any], ax: Any) -> None:
    lib = e["compile_logp"](e["schools"], "build", name="schools").load()
    draws = e["sample"](lib.dlogp, np.zeros(10), 3000, 0.25, 16, np.random.default_rng(3))[1000:]
    theta = np.array([lib.constrain(q)["theta"] for q in draws])
    low, middle, high = np.percentile(theta, [5, 50, 95], axis=0)
    row = np.arange(8)
    ax.hlines(row + 0.15, e["EFFECTS"] - e["ERRORS"], e["EFFECTS"] + e["ERRORS"], color=GREY, label="measured ± error")
    ax.hlines(row - 0.15, low, high, color=BLUE, lw=3, label="posterior, 90 %")
    ax.plot(middle, row - 0.15, "o", color=BLUE)
    ax.set(yticks=row, yticklabels="ABCDEFGH", xlabel="effect", ylabel="school")
    ax.legend()


def from_jax(e: dict[str, Any], ax: Any) -> None:
    scale = np.linspace(0.7, 1.3, 25)
    curves = [
        [e["f"](e["RATES"] * np.where(np.arange(4) == k, s, 1), e["FIRST"])["out"] for s in scale] for k in range(4)
    ]
    middle = e["f"](e["RATES"], e["FIRST"])
    for k, (curve, color) in enumerate(zip(curves, (BLUE, ORANGE, GREY, "k"), strict=True)):
        ax.plot(scale, curve, color=color, lw=1, label=f"rate {k}")
        slope = middle["grad_rates"][k] * e["RATES"][k]
        ax.plot([0.92, 1.08], middle["out"] + slope * np.array([-0.08, 0.08]), color=color, lw=4, alpha=0.5)
    ax.set(xlabel="rate, relative", ylabel="mean number of predators", title="thick: the gradient")
    ax.legend()
