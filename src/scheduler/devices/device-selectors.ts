/** Selects devices by expressions over `device`. Upstream: dynamic-resource-allocation/cel. */
import type { Device, DeviceAttribute, DeviceSelector } from '../../api/gen/resource-v1.ts';
import type { Program } from '../../api/cel/compile.ts';
import { compileDeviceSelector, DEVICE_SELECTOR_COST_LIMIT, DEVICE_TYPE } from '../../api/cel/device-types.ts';
import { Meter } from '../../api/cel/meter.ts';

/**
 * Whether a device of a driver is selected. Throws the expression's error, and RuntimeError when it exceeds its cost
 * limit.
 */
export type DeviceTest = (driver: string, device: Device) => boolean;

const programs = new Map<string, Program>();

function programOf(expression: string): Program {
  let program = programs.get(expression);
  if (program === undefined) {
    program = compileDeviceSelector(expression);
    // Expressions come from classes and claims: few in practice, but any user may add some.
    if (programs.size >= 1_000) programs.clear();
    programs.set(expression, program);
  }
  return program;
}

/** A test that requires all selectors. @throws CompileError */
export function deviceTest(selectors: readonly DeviceSelector[]): DeviceTest {
  const all = selectors.flatMap(({ cel }) => (cel === undefined ? [] : programOf(cel.expression)));
  return (driver, device) => {
    if (all.length === 0) return true;
    const value = DEVICE_TYPE.value({
      driver,
      allowMultipleAllocations: device.allowMultipleAllocations ?? false,
      attributes: nested(device.attributes, driver, (attribute) => attribute),
      capacity: nested(device.capacity, driver, ({ value: quantity }) => quantity),
    });
    return all.every((program) => program.run({ device: value }, new Meter(DEVICE_SELECTOR_COST_LIMIT)) === true);
  };
}

/** Groups qualified names by domain; a name without a domain has the driver's. */
function nested<T>(
  values: Readonly<Record<string, T>> = {},
  driver: string,
  read: (value: T) => unknown,
): Record<string, Record<string, unknown>> {
  const found: Record<string, Record<string, unknown>> = {};
  for (const [key, value] of Object.entries(values)) {
    const at = key.indexOf('/');
    const [domain, name] = at < 0 ? [driver, key] : [key.slice(0, at), key.slice(at + 1)];
    (found[domain] ??= {})[name] = read(value);
  }
  return found;
}

/** An attribute by its qualified name; constraints compare it. */
export function attributeOf(
  driver: string,
  { attributes = {} }: Device,
  qualified: string,
): DeviceAttribute | undefined {
  const own = qualified.startsWith(`${driver}/`) ? attributes[qualified.slice(driver.length + 1)] : undefined;
  return attributes[qualified] ?? own;
}
