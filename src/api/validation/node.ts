/** Nodes. Upstream: apis/core/validation ValidateNode, ValidateNodeUpdate. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { Node, Taint } from '../gen/core-v1.ts';
import { isLabelValue } from '../names.ts';
import { validateLabelName } from '../meta-validation.ts';
import { validateNonnegativeQuantity, validateTaintEffect } from './common.ts';
import { validateCidr } from './ip-fields.ts';

function validateTaints(taints: readonly Taint[], field: Field): void {
  const seen = new Set<string>();
  for (const [index, taint] of taints.entries()) {
    const place = field.item(index);
    validateLabelName(taint.key, place.at('key'));
    place.at('value').complain(taint.value ?? '', isLabelValue(taint.value ?? ''));
    validateTaintEffect(taint.effect ?? '', false, place.at('effect'));
    const identity = `${taint.key}:${taint.effect}`;
    if (seen.has(identity)) {
      place.duplicate(taint);
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

/** A node. */
export function validateNode(node: Node, field: Field): void {
  validateTaints(node.spec?.taints ?? [], field.at('spec').at('taints'));
  const cidrs = node.spec?.podCIDRs ?? [];
  for (const [index, cidr] of cidrs.entries()) validateCidr(cidr, field.at('spec').at('podCIDRs').item(index));
  if (cidrs.length > 2)
    field.at('spec').at('podCIDRs').invalid(cidrs, 'may specify no more than one CIDR for each IP family');
  validateDeclaredFeatures(node.status?.declaredFeatures ?? [], field.at('status').at('declaredFeatures'));
  for (const [name, quantity] of Object.entries(node.status?.capacity ?? {}))
    validateNonnegativeQuantity(quantity, field.at('status').at('capacity').key(name));
  for (const [name, quantity] of Object.entries(node.status?.allocatable ?? {}))
    validateNonnegativeQuantity(quantity, field.at('status').at('allocatable').key(name));
}

/** An update: ranges and provider are set once. */
export function validateNodeUpdate(node: Node, old: Node, field: Field): void {
  validateNode(node, field);
  const oldCidrs = old.spec?.podCIDRs ?? [];
  if (oldCidrs.length > 0 && !deepEqual(node.spec?.podCIDRs ?? [], oldCidrs)) {
    field.at('spec').at('podCIDRs').forbidden('node updates may not change podCIDR except from "" to valid');
  }
  if ((old.spec?.providerID ?? '') !== '' && node.spec?.providerID !== old.spec?.providerID) {
    field.at('spec').at('providerID').forbidden('node updates may not change providerID except from "" to valid');
  }
}
