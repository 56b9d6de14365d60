"""The lines that every snippet of the page follows: one step of each method, and the flow."""

PREAMBLE = '''\
import numpy as np
from scipy.integrate import solve_ivp

norm = np.linalg.norm
B = np.array([[1.0, 0.0]]), np.array([1.0])  # the instance B: A = [1, 0] and y = 1
e1, e2 = np.eye(2)


def loss(A, y, x):
    return 0.5 * norm(A @ x - y) ** 2


def rpgd(A, y, g, w, eta, gamma):
    """The next g and w of rPGD, from a unit w."""
    pull = A.T @ (A @ (g * w) - y)
    v = w - eta * g * pull
    return g - gamma * (w @ pull), v / norm(v)


def wn(A, y, g, w, eta, gamma):
    """The next g and w of weight normalization: gradient descent on (g, w)."""
    u = w / norm(w)
    pull = A.T @ (A @ (g * u) - y)
    s = u @ pull
    return g - gamma * s, w - eta * g / norm(w) * (pull - s * u)


def path(A, y, g, w, gammas):
    """Steps of rPGD with eta = 1/g^2 and these scale steps: the list of all (g, w)."""
    points = [(g, np.asarray(w, float))]
    for gamma in gammas:
        g, w = points[-1]
        points.append(rpgd(A, y, g, w, 1 / g**2, gamma))
    return points


def flow(A, y, g, w, c, time=100.0):
    """The WN flow at a time: g and the unit w."""

    def field(t, state):
        g, w = state[0], state[1:] / norm(state[1:])
        pull = A.T @ (A @ (g * w) - y)
        s = w @ pull
        return np.append(-c * s, -g * (pull - s * w))

    answer = solve_ivp(field, (0, time), np.append(g, w), "LSODA", rtol=1e-12, atol=1e-14)
    return answer.y[0, -1], answer.y[1:, -1] / norm(answer.y[1:, -1])
'''
