"""Ed25519 according to RFC 8032 section 5.1, in plain Python, so that test vectors do not come from the code under test.

The code is slow and not constant in time, so use it only with published test keys.
"""

import hashlib

P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def recover_x(y, sign):
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    assert (x * x - x2) % P == 0
    return P - x if x & 1 != sign else x


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = recover_x(BASE_Y, 0)
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result


def compress(point):
    z = pow(point[2], P - 2, P)
    x, y = point[0] * z % P, point[1] * z % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def hash_scalar(data):
    return int.from_bytes(hashlib.sha512(data).digest(), "little") % Q


def expand(secret):
    digest = hashlib.sha512(secret).digest()
    scalar = (int.from_bytes(digest[:32], "little") & (1 << 254) - 8) | 1 << 254
    return scalar, digest[32:], compress(multiply(scalar, BASE))


def public_key(secret):
    return expand(secret)[2]


def sign(secret, message):
    scalar, prefix, public = expand(secret)
    r = hash_scalar(prefix + message)
    point = compress(multiply(r, BASE))
    s = (r + hash_scalar(point + public + message) * scalar) % Q
    return point + s.to_bytes(32, "little")


TEST_1 = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
TEST_2 = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
"""Secret keys from RFC 8032 section 7.1, TEST 1 and TEST 2."""

assert public_key(TEST_1).hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
assert sign(TEST_1, b"").hex().startswith("e5564300c360ac729086e2cc806e828a")
