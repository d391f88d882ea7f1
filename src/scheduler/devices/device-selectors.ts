/** Selects devices by expressions over `device`. Upstream: dynamic-resource-allocation/cel. */
import type { Device, DeviceAttribute, DeviceSelector } from '../../api/gen/resource-v1.ts';
import type { Program } from '../../api/cel/compile.ts';
import { compileDeviceSelector, DEVICE_SELECTOR_COST_LIMIT, DEVICE_TYPE } from '../../api/cel/device-types.ts';
import { getOrMake } from '../../base/get-or-make.ts';
import { Meter } from '../../api/cel/meter.ts';

/**
 * Whether a device of a driver is selected. Throws the expression's error, CompileError, and RuntimeError when it exceeds its
 * cost limit. `spend` is called with the work of each expression that was compiled or evaluated, in units of 50 to 150 ns; it may
 * throw to end the test, and the next test of the device continues at the selector after the last that selected it.
 */
export type DeviceTest = (driver: string, device: Device, spend?: (work: number) => void) => boolean;

/** Work of compiling a character. */
const COMPILE_WORK = 16;
/** Work of starting an evaluation. */
const RUN_WORK = 12;

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

/** A test that requires all selectors. An expression is compiled when the test first comes to it. */
export function deviceTest(selectors: readonly DeviceSelector[]): DeviceTest {
  const expressions = selectors.flatMap(({ cel }) => cel?.expression ?? []);
  const compiled: Program[] = [];
  const program = (at: number, spend: (work: number) => void): Program => {
    if (compiled[at] === undefined) {
      spend(expressions[at]!.length * COMPILE_WORK);
      compiled[at] = programOf(expressions[at]!);
    }
    return compiled[at];
  };
  /** The number of selectors that are known to select a device, if further ones follow. */
  const passed = new WeakMap<Device, number>();
  return (driver, device, spend = () => undefined) => {
    if (expressions.length === 0) return true;
    const variables = { device: deviceValue(driver, device) };
    for (let at = passed.get(device) ?? 0; at < expressions.length; at++) {
      const selector = program(at, spend);
      const meter = new Meter(DEVICE_SELECTOR_COST_LIMIT);
      try {
        if (selector.run(variables, meter) !== true) return false;
        if (at + 1 < expressions.length) passed.set(device, at + 1);
      } finally {
        spend(meter.spent + RUN_WORK);
      }
    }
    return true;
  };
}

const deviceValues = new WeakMap<Device, unknown>();

function deviceValue(driver: string, device: Device): unknown {
  return getOrMake(deviceValues, device, () =>
    DEVICE_TYPE.value({
      driver,
      allowMultipleAllocations: device.allowMultipleAllocations ?? false,
      attributes: nested(device.attributes, driver, (attribute) => attribute),
      capacity: nested(device.capacity, driver, ({ value: quantity }) => quantity),
    }),
  );
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
