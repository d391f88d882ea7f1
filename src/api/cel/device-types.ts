/**
 * The variable `device` of expressions that select devices, with attributes and capacities by domain. Upstream:
 * dynamic-resource-allocation/cel.
 */
import type { DeviceAttribute } from '../gen/resource-v1.ts';
import { compile, type Program } from './compile.ts';
import { estimateCost } from './cost/estimate.ts';
import { createEnvironment, type CelEnvironment } from './environment.ts';
import { QUANTITY, quantityOf } from './libraries/quantity.ts';
import { semverOf } from './libraries/semver.ts';
import { SCALAR_SIZE, type Size, sizeBelow } from './rules/size.ts';
import { BOOL, DYN, mapType, scalarType, STRING, structOf, type ValueType } from './value-types.ts';

/** A map whose `get` returns an empty map for a domain without values, as upstream. */
class Domains extends Map<string, unknown> {
  override get(domain: string): unknown {
    return super.get(domain) ?? new Map<string, unknown>();
  }
}

function byDomain(inside: ValueType): ValueType {
  const plain = mapType(mapType(inside));
  return { ...plain, value: (json) => new Domains(plain.value(json) as Map<string, unknown>) };
}

const ATTRIBUTE: ValueType = { ...DYN, value: attributeValue };

/** The variable `device`. */
export const DEVICE_TYPE = structOf('DRADevice', {
  driver: STRING,
  allowMultipleAllocations: BOOL,
  attributes: byDomain(ATTRIBUTE),
  capacity: byDomain(scalarType(QUANTITY, (json) => quantityOf(json as string))),
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

/** Throws `CompileError`. */
export function compileDeviceSelector(expression: string): Program {
  environment ??= { ...createEnvironment({ device: DEVICE_TYPE.type }), hasBindings: true };
  return compile(expression, { environment, returnTypes: ['bool'] });
}

/**
 * The cost limit of a selector. It bounds the estimate at admission and the run for one device (CELSelectorExpressionMaxCost).
 */
export const DEVICE_SELECTOR_COST_LIMIT = 1_000_000;

const MAX_ATTRIBUTES = 32;
const MAX_ATTRIBUTE_LENGTH = 64;
const MAX_DRIVER_NAME_LENGTH = 63;
const MAX_DOMAIN_LENGTH = 63;
const MAX_ID_LENGTH = 32;

const sizeByDomain = (inside: Size, hasEveryField: boolean): Size => ({
  max: MAX_ATTRIBUTES,
  keys: { max: MAX_DOMAIN_LENGTH },
  items: { max: MAX_ATTRIBUTES, keys: { max: MAX_ID_LENGTH }, items: inside, hasEveryField },
});

const DEVICE_SIZE: Size = {
  max: 1,
  fields: new Map([
    ['driver', { max: MAX_DRIVER_NAME_LENGTH }],
    ['allowMultipleAllocations', SCALAR_SIZE],
    ['attributes', sizeByDomain({ max: MAX_ATTRIBUTE_LENGTH }, true)],
    ['capacity', sizeByDomain(SCALAR_SIZE, false)],
  ]),
};

/** The maximum cost of a selector, for the largest possible device. */
export function deviceSelectorCost({ tree }: Program): number {
  const below = sizeBelow(DEVICE_SIZE);
  return estimateCost(tree, (path) => (path[0] === 'device' ? below(path) : undefined)).max;
}
