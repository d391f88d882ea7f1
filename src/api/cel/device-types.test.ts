/** Costs of selectors equal those of upstream's estimator for the largest device. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileDeviceSelector, deviceSelectorCost } from './device-types.ts';

/** The cost and the selector, computed by cel-go's estimator with the types of dynamic-resource-allocation/cel. */
const ESTIMATES = `
30979 device.attributes.all(d, device.attributes[d].all(n, string(device.attributes[d][n]).matches("^[a-z]*$")))
3 device.driver == "a"
5 device.attributes["a"].b == "x"
5 device.attributes["a"]["b"] == "x"
25 string(device.attributes["a"]["b"]).matches("^[a-z]*$")
12 string(device.attributes["a"].b)=="x"
163 device.attributes.all(d, d == "a")
7 device.capacity["a"].b.compareTo(quantity("1Gi")) > 0
17 cel.bind(dra, device.attributes["dra.example.com"], dra.oneBool && dra.anotherBool)
388 device.attributes["a"].all(n, n.matches("^[a-z]*$"))
16 device.driver.matches("^[a-z]*$")
6 device.attributes["a"].b.isGreaterThan(semver("1.0.0"))
4 dyn(device.driver) == "a"
16 device.attributes["a"].b in ["a","b"]
12 bytes(device.attributes["a"].b) == b"a"
15 device.attributes["a"].b == device.attributes["a"].c
12 device.attributes["a"].b + "x" == "y"
6 device.attributes["a"].b.startsWith("xxxxxxxxxxxx")
6 size(device.attributes["a"].b) > 2
18 device.attributes["a"].b.contains("xxxxxxxxxxxxxxxxx")
68 "x" in device.attributes["a"].b
5 device.attributes["a"].b < "x"
6 device.attributes["a"].b[0] == "x"
5 device.attributes["a"].b > 3
19 device.attributes["a"].b.split(",").size() > 2
6 device.attributes["a"].?b.orValue("x") == "y"
7 has(device.attributes["a"].b) && device.attributes["a"].b
6 "a" in device.attributes && has(device.attributes["a"].b)
163 .device.attributes.all(d, .d == "a")
388 .device.attributes["a"].all(n, .n.matches("^[a-z]*$"))
6435 device.attributes.exists(d, device.attributes[d].exists(n, n == "model"))
19 string(device.attributes["a"].b) + "x" == "y"
12 device.attributes["a"].b.lowerAscii() == "y"
18 device.attributes["a"].b.replace("a","b") == "y"
7 timestamp(device.attributes["a"].b) < timestamp("2020-01-01T00:00:00Z")
6 int(device.attributes["a"].b) < 3
`;

test("the estimate of every selector equals that of upstream's estimator", () => {
  const differing: string[] = [];
  for (const line of ESTIMATES.trim().split('\n')) {
    const [expected = '', selector] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)];
    const cost = deviceSelectorCost(compileDeviceSelector(selector));
    if (String(cost) !== expected) differing.push(`${selector}: ${cost}, not ${expected}`);
  }
  assert.deepEqual(differing, []);
});
