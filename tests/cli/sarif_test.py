"""What `loopc check --format sarif` writes is SARIF 2.1.0: validated against the standard's schema.

sarif_test.py LOOPC SOURCE_DIR
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

loopc, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
schema = json.loads((source / "tests/data/sarif/sarif-schema-2.1.0.json").read_text())
validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())

SPEC = (source / "tests/golden/diagnostics/accumulator_class.loop").read_text()


def report(folder, *args):
    result = subprocess.run([loopc, "check", "--format", "sarif", *args], cwd=folder, capture_output=True, text=True)
    assert result.returncode in (0, 1), result.stderr
    document = json.loads(result.stdout)
    validator.validate(document)
    return document["runs"][0]


def fingerprints(run):
    return sorted((r["ruleId"], r["partialFingerprints"]["primaryLocationLineHash"]) for r in run["results"])


# Everything the project has: golden specs, faults, examples.
whole = report(source, "tests/golden/diagnostics", "tests/faults", "examples")
assert whole["results"]
for result in whole["results"]:
    rule = whole["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == result["ruleId"]
    for location in result["locations"]:
        artifact = location["physicalLocation"]["artifactLocation"]
        assert artifact["uriBaseId"] == "SRCROOT" and not artifact["uri"].startswith(("/", ".")), artifact

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "a b").mkdir()
    spec = folder / "a b" / "ä%.loop"
    spec.write_text(SPEC)
    before = report(folder, ".")
    assert before["results"]
    uri = before["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%20b/%C3%A4%25.loop", uri
    # The same by an absolute path, and after lines have been inserted before it.
    assert report(folder, str(spec)) == before
    spec.write_text("# a comment\n\n" + SPEC)
    after = report(folder, ".")
    assert after != before and fingerprints(after) == fingerprints(before)
    # An allowed finding is there, suppressed.
    finding = next(r["ruleId"] for r in before["results"] if r["ruleId"] >= "L100")
    spec.write_text(f'# loop: allow-file({finding}, reason: "a test")\n' + SPEC)
    suppressed = [r for r in report(folder, ".")["results"] if "suppressions" in r]
    assert suppressed and all(r["ruleId"] == finding for r in suppressed)
    assert suppressed[0]["suppressions"][0]["justification"] == "a test"
    # Without findings, from standard input, with an override.
    (folder / "m.loop").write_text("const a = 1\n")
    assert all("suppressions" in r for r in report(folder, "--ignore", "all", ".")["results"])
    for text, args in ((SPEC, []), ("loop x {", []), (SPEC, ["--set", "seed=x"])):
        result = subprocess.run([loopc, "check", "--format", "sarif", "-", *args], input=text, capture_output=True, text=True)
        validator.validate(json.loads(result.stdout))
print("all checks passed:", len(whole["results"]), "results in the project's own specs")
