/** Validation of nodes. Upstream: apis/core/validation ValidateNode, ValidateNodeUpdate. */
import { parseCidr } from '../../base/cidr.ts';
import type { Field } from '../field-error.ts';
import type { Node, NodeAddress, Taint } from '../gen/core-v1.ts';
import { isLabelValue } from '../names.ts';
import { validateLabelName } from '../meta-validation.ts';
import { validatePositive, validateTaintEffect } from './common.ts';
import { validateCidr } from './ip-fields.ts';
import { validateConfigSource } from './node-config-source.ts';
import { validateResourceQuantity } from './resource-names.ts';

function validateTaints(taints: readonly Taint[], field: Field): void {
  const seen = new Set<string>();
  for (const [index, taint] of taints.entries()) {
    const place = field.item(index);
    validateLabelName(taint.key, place.at('key'));
    const problems = isLabelValue(taint.value ?? '');
    if (problems.length > 0) place.at('value').invalid(taint.value, problems.join(';'));
    validateTaintEffect(taint.effect ?? '', false, place.at('effect'));
    const identity = `${taint.key}:${taint.effect}`;
    if (seen.has(identity)) {
      place.duplicate(taint, 'taints must be unique by key and effect pair');
    }
    seen.add(identity);
  }
}

const FEATURE_NAME = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;
const FEATURE_NAME_LENGTH = 253;

function validateDeclaredFeatures(features: readonly string[], field: Field): void {
  for (const [index, name] of features.entries()) {
    const place = field.item(index);
    const before = features[index - 1];
    const wrong = `invalid feature name ${JSON.stringify(name)}: must`;
    if (name.length > FEATURE_NAME_LENGTH)
      place.invalid(name, `${wrong} be no more than ${FEATURE_NAME_LENGTH} characters`);
    else if (!FEATURE_NAME.test(name))
      place.invalid(
        name,
        `${wrong} start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
      );
    if (name === before) place.duplicate(name);
    else if (before !== undefined && before > name) place.invalid(name, 'list must be sorted alphabetically');
  }
}

function validateAmounts(node: Node, field: Field): void {
  for (const part of ['capacity', 'allocatable'] as const)
    for (const [name, quantity] of Object.entries(node.status?.[part] ?? {}))
      // As upstream, paths have these names as fields, not as keys.
      validateResourceQuantity(name, quantity, field.at('status').at(part).at(name));
}

/** At most one range of each family. */
function isRangePair(ranges: readonly string[]): boolean {
  const families = ranges.map((range) => parseCidr(range)?.family);
  return ranges.length === 2 && families.includes(4) && families.includes(6);
}

/** Validates a node. As upstream, errors of taints and swap are reported below metadata. */
export function validateNode(node: Node, field: Field): void {
  const { podCIDRs = [], taints = [] } = node.spec ?? {};
  validateTaints(taints, field.at('metadata').at('taints'));
  validateAmounts(node, field);
  validatePositive(node.status?.nodeInfo?.swap?.capacity, field.at('metadata').at('nodeSwapStatus').at('capacity'));
  const place = field.at('spec').at('podCIDRs');
  for (const [index, cidr] of podCIDRs.entries()) validateCidr(cidr, place.item(index));
  if (podCIDRs.length > 1 && !isRangePair(podCIDRs))
    place.invalid(podCIDRs, 'may specify no more than one CIDR for each IP family');
  validateDeclaredFeatures(node.status?.declaredFeatures ?? [], field.at('status').at('declaredFeatures'));
}

/** Validates an update: ranges and provider ID can be set once. */
export function validateNodeUpdate(node: Node, old: Node, field: Field): void {
  validateNode(node, field);
  validateChange(node, old, field);
}

export function validateNodeStatusUpdate(node: Node, old: Node, field: Field): void {
  validateAmounts(node, field);
  validateDeclaredFeatures(node.status?.declaredFeatures ?? [], field.at('status').at('declaredFeatures'));
  validateChange(node, old, field);
}

function validateChange(node: Node, old: Node, field: Field): void {
  const [spec, status] = [field.at('spec'), field.at('status')];
  validateAddresses(node.status?.addresses ?? [], status.at('addresses'));
  const { podCIDRs = [], providerID = '', externalID = '', configSource } = node.spec ?? {};
  const before = old.spec?.podCIDRs ?? [];
  const changed = before.length === podCIDRs.length ? before.filter((range, at) => range !== podCIDRs[at]) : [''];
  if (before.length > 0)
    for (const _ of changed)
      spec.at('podCIDRs').forbidden('node updates may not change podCIDR except from "" to valid');
  if ((old.spec?.providerID ?? '') !== '' && providerID !== old.spec?.providerID)
    spec.at('providerID').forbidden('node updates may not change providerID except from "" to valid');
  if (configSource !== undefined) validateConfigSource(configSource, false, spec.at('configSource'));
  for (const use of ['assigned', 'active', 'lastKnownGood'] as const) {
    const source = node.status?.config?.[use];
    if (source !== undefined) validateConfigSource(source, true, status.at('config').at(use));
  }
  if (externalID !== (old.spec?.externalID ?? '')) spec.at('externalID').forbidden('may not be updated');
}

function validateAddresses(addresses: readonly NodeAddress[], field: Field): void {
  const seen = new Set<string>();
  for (const [index, address] of addresses.entries()) {
    const identity = `${address.type} ${address.address}`;
    if (seen.has(identity)) field.item(index).duplicate(address);
    seen.add(identity);
  }
}
