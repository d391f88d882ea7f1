/** Selects devices by expressions over `device`. Upstream: dynamic-resource-allocation/cel. */
import type { Device, DeviceAttribute, DeviceSelector } from '../../api/gen/resource-v1.ts';
import { compile, type Program } from '../../api/cel/compile.ts';
import { createEnvironment, type CelEnvironment } from '../../api/cel/environment.ts';
import { quantityOf } from '../../api/cel/libraries/quantity.ts';
import { semverOf } from '../../api/cel/libraries/semver.ts';
import { BOOL, DYN, mapType, scalarType, STRING, structOf, type ValueType } from '../../api/cel/value-types.ts';

/** Whether a device of a driver is selected. Throws what the expression throws. */
export type DeviceTest = (driver: string, device: Device) => boolean;

/** Maps by domain: one without values is empty, not missing. The evaluator knows maps by their class alone. */
function byDomain(inside: ValueType): ValueType {
  const plain = mapType(mapType(inside));
  const value = (json: unknown): Map<string, unknown> => {
    const domains = plain.value(json) as Map<string, unknown>;
    const found = new Map(domains);
    domains.get = (domain) => found.get(domain) ?? new Map<string, unknown>();
    return domains;
  };
  return { ...plain, value };
}

const ATTRIBUTE: ValueType = { ...DYN, value: attributeValue };
const DEVICE = structOf('DRADevice', {
  driver: STRING,
  allowMultipleAllocations: BOOL,
  attributes: byDomain(ATTRIBUTE),
  capacity: byDomain(scalarType('kubernetes.Quantity', (json) => quantityOf(json as string))),
});

function attributeValue(json: unknown): unknown {
  const { bool, int, string, version, bools, ints, strings, versions } = json as DeviceAttribute;
  if (int !== undefined) return BigInt(int);
  if (version !== undefined) return semverOf(version, false);
  if (ints !== undefined) return ints.map(BigInt);
  if (versions !== undefined) return versions.map((each) => semverOf(each, false));
  return bool ?? string ?? bools ?? strings;
}

let environment: CelEnvironment | undefined;
const programs = new Map<string, Program>();

function programOf(expression: string): Program {
  let program = programs.get(expression);
  if (program === undefined) {
    environment ??= createEnvironment({ device: DEVICE.name }, DEVICE.declared);
    program = compile(expression, { environment, returnTypes: ['bool'] });
    // Expressions come from classes and claims: few, but anybody may make new ones.
    if (programs.size >= 1_000) programs.clear();
    programs.set(expression, program);
  }
  return program;
}

/** The test that all selectors make together. Throws CompileError. */
export function deviceTest(selectors: readonly DeviceSelector[]): DeviceTest {
  const all = selectors.flatMap(({ cel }) => (cel === undefined ? [] : programOf(cel.expression)));
  return (driver, device) => {
    if (all.length === 0) return true;
    const value = DEVICE.value({
      driver,
      allowMultipleAllocations: device.allowMultipleAllocations ?? false,
      attributes: nested(device.attributes, driver, (attribute) => attribute),
      capacity: nested(device.capacity, driver, ({ value: quantity }) => quantity),
    });
    return all.every((program) => program.run({ device: value }) === true);
  };
}

/** Names without a domain are the driver's. */
function nested<T>(
  values: Readonly<Record<string, T>> = {},
  driver: string,
  of: (value: T) => unknown,
): Record<string, Record<string, unknown>> {
  const found: Record<string, Record<string, unknown>> = {};
  for (const [key, value] of Object.entries(values)) {
    const at = key.indexOf('/');
    const [domain, name] = at < 0 ? [driver, key] : [key.slice(0, at), key.slice(at + 1)];
    (found[domain] ??= {})[name] = of(value);
  }
  return found;
}

/** An attribute by its qualified name, for constraints. */
export function attributeOf(
  driver: string,
  { attributes = {} }: Device,
  qualified: string,
): DeviceAttribute | undefined {
  const own = qualified.startsWith(`${driver}/`) ? attributes[qualified.slice(driver.length + 1)] : undefined;
  return attributes[qualified] ?? own;
}
