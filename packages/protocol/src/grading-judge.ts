/**
 * The judge of version 2 and the comparer, in Python. A verifier knows each of the two by its digest, so changed code is another
 * program. The output of earlier code must still be accepted. Both read the output of hostile programs, so they hold at
 * most one piece or one line of a large text.
 */
import { GRADING_FILE, VERDICT_FILE } from './grading.ts';
import { VERDICT_SCHEMA_2 } from './grading-record.ts';

/** Where a comparer and a checker find the texts. */
export const CHECKED_FILES = { stdin: 'input/stdin', output: 'input/output', expected: 'input/expected' } as const;

/** Compares texts by their forms or, with a tolerance, word by word. White space is that of ASCII, as for bytes in Python. */
const COMPARE = `NUMBER = re.compile(rb"[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?\\Z")


def pieces(file):
    while piece := file.read(1 << 20):
        yield piece


def exact_form(file):
    form = hashlib.sha256()
    for piece in pieces(file):
        form.update(piece)
    return form.digest()


def lines_form(file):
    form, ends = hashlib.sha256(), 0
    for line in file:
        line = line.rstrip()
        if line:
            form.update(b"\\n" * ends + line)
            ends = 0
        ends += 1
    return form.digest()


def words_form(file):
    form, seen, gap = hashlib.sha256(), False, False
    for piece in pieces(file):
        words = piece.split()
        if words:
            if seen and (gap or piece[:1].isspace()):
                form.update(b" ")
            form.update(b" ".join(words))
            seen = True
            gap = False
        gap = gap or piece[-1:].isspace()
    return form.digest()


def words(file):
    begun = []
    for piece in pieces(file):
        found = piece.split()
        if begun and (not found or piece[:1].isspace()):
            yield b"".join(begun)
            begun = []
        if not found:
            continue
        last = None if piece[-1:].isspace() else found.pop()
        if found and begun:
            yield b"".join(begun) + found.pop(0)
            begun = []
        yield from found
        if last is not None:
            begun.append(last)
    if begun:
        yield b"".join(begun)


def near(one, other, absolute, relative):
    if len(one) > 1000 or len(other) > 1000 or not NUMBER.match(one) or not NUMBER.match(other):
        return False
    off = abs(float(one) - float(other))
    return off < math.inf and (off <= absolute or off <= relative * abs(float(other)))


FORMS = {"exact": exact_form, "lines": lines_form, "words": words_form}


def alike(output, expected, compare):
    if isinstance(compare, str):
        return FORMS[compare](output) == FORMS[compare](expected)
    absolute, relative = compare["floats"].get("absolute", 0), compare["floats"].get("relative", 0)
    pairs = itertools.zip_longest(words(output), words(expected))
    return all(
        one == other or (one is not None and other is not None and near(one, other, absolute, relative))
        for one, other in pairs
    )
`;

const importing = (...names: readonly string[]) => names.map((name) => `import ${name}\n`).join('');

/** Compares an output with the expected output. The only argument says how. Exits with 42 if they are alike, else with 43. */
export const COMPARER = `${importing('hashlib', 'itertools', 'json', 'math', 're', 'sys')}
${COMPARE}

with open("${CHECKED_FILES.output}", "rb") as output, open("${CHECKED_FILES.expected}", "rb") as expected:
    sys.exit(42 if alike(output, expected, json.loads(sys.argv[1])) else 43)
`;

/** The judge of version 2, with the rules that `grading-score.ts` explains. */
export const JUDGE_2 = `${importing('hashlib', 'io', 'itertools', 'json', 'math', 're')}
${COMPARE}

ENDS = {
    "wall_limit": "time_limit",
    "cpu_limit": "time_limit",
    "memory_limit": "memory_limit",
    "signaled": "runtime_error",
}
REFUSED = {"testlib": (1, 2, 4, 8), "kattis": (43,)}
ACCEPTED = {"testlib": 0, "kattis": 42}
POINTS = re.compile("[ \\t\\r\\n]*[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]{1,3})?[ \\t\\r\\n]*\\Z")


def is_valid(check):
    return check["terminal_reason"] == "exited" and check["exit_code"] == ACCEPTED[check["codes"]]


def part(said, most):
    text = said["text"]
    if not POINTS.match(text):
        return "checker_failed", 0
    points = float(text) * most if said["kind"] == "part" else float(text)
    if not 0 <= points <= most:
        return "checker_failed", 0
    if points == most:
        return "accepted", most
    return ("partial", points) if points > 0 else ("wrong_answer", 0)


def by_check(check, most):
    codes, code, said = check["codes"], check["exit_code"], check["said"]
    if check["terminal_reason"] != "exited":
        return "checker_failed", 0
    if code in REFUSED[codes]:
        return "wrong_answer", 0
    if codes == "testlib" and code == 7 and said is not None:
        return part(said, most)
    if code != ACCEPTED[codes]:
        return "checker_failed", 0
    return ("accepted", most) if said is None or codes == "testlib" else part(said, most)


def binary(text):
    return text.encode("utf-8", "surrogatepass")


def is_alike(test):
    if test["expected"] is None:
        return test["expected_sha256"] is None
    if test["stdout"] is None:
        return False
    return alike(io.BytesIO(binary(test["stdout"])), io.BytesIO(binary(test["expected"])), test["compare"])


def alone(test, build):
    run = test["run"]
    if not all(map(is_valid, test["validations"])):
        return "invalid_input", 0
    compiler = build["compiler"] if build is not None else run and run["compiler"]
    if compiler is not None:
        return "compile_error" if compiler == "error" else "compile_limit", 0
    if run is None:
        return "not_run", 0
    if run["terminal_reason"] != "exited":
        return ENDS.get(run["terminal_reason"], "not_run"), 0
    if run["exit_code"] != 0:
        return "runtime_error", 0
    if test["is_cut"]:
        return "output_limit", 0
    if test["check"] is not None:
        return by_check(test["check"], test["points"])
    return ("accepted", test["points"]) if is_alike(test) else ("wrong_answer", 0)


def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result


def fraction(verdict, points, most):
    return 1 if verdict == "accepted" else points / most if most > 0 else 0


def settle(group, tests, won, failed):
    members = [at for at, test in enumerate(tests) if test["group"] == group["name"]]
    is_shut = any(name in failed for name in group["after"])
    for at in members:
        if is_shut:
            won[at] = "skipped", 0
        elif group["stop"]:
            is_shut = won[at][0] not in ("accepted", "partial")
    passed = all(won[at][0] == "accepted" for at in members)
    if not passed:
        failed.add(group["name"])
    row = {name: group[name] for name in ("name", "score", "after", "stop")}
    if group["score"] == "sum":
        points, most = total(won[at][1] for at in members), total(tests[at]["points"] for at in members)
    else:
        parts = (fraction(*won[at], tests[at]["points"]) for at in members)
        points, most = group["points"] * min(1, *parts), group["points"]
    return {**row, "passed": passed, "points": points, "points_max": most}


def digest(text, known):
    return known if text is None else hashlib.sha256(binary(text)).hexdigest()


KEPT = ("name", "group", "compare", "run", "starved", "check", "validations", "stdin_sha256")


def result(test, won):
    return {
        **{name: test[name] for name in KEPT},
        "verdict": won[0],
        "points": won[1],
        "points_max": test["points"],
        "stdout_sha256": digest(test["stdout"], test["stdout_sha256"]),
        "expected_sha256": digest(test["expected"], test["expected_sha256"]),
    }


with open("${GRADING_FILE}", encoding="utf-8") as file:
    grading = json.load(file)
tests, failed = grading["tests"], set()
won = [alone(test, grading["program"]["build"]) for test in tests]
groups = [settle(group, tests, won, failed) for group in grading["groups"]]
document = {
    "schema": "${VERDICT_SCHEMA_2}",
    "program": grading["program"],
    "accepted": all(verdict == "accepted" for verdict, _ in won),
    "points": total(group["points"] for group in groups),
    "points_max": total(group["points_max"] for group in groups),
    "groups": groups,
    "tests": [result(test, how) for test, how in zip(tests, won)],
}
with open("${VERDICT_FILE}", "w", encoding="utf-8") as file:
    json.dump(document, file, ensure_ascii=False, indent=1)
    file.write("\\n")
print("accepted" if document["accepted"] else "not accepted")
`;
