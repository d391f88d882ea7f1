/** Decides which Ingress objects are ours: those whose class names our controller. */
import type { Ingress, IngressClass } from '../../api/gen/networking-v1.ts';
import { GATEWAY_CONTROLLER } from '../../component-helpers/gateway-class.ts';

/** The annotation that named the class before IngressClass existed. */
const OLD_ANNOTATION = 'kubernetes.io/ingress.class';

/** Whether an ingress is ours. One without a class belongs to no controller: admission sets the default class. */
export function isServedIngress(
  { metadata, spec }: Ingress,
  classNamed: (name: string) => IngressClass | undefined,
): boolean {
  const name = spec?.ingressClassName ?? metadata.annotations?.[OLD_ANNOTATION];
  return name !== undefined && classNamed(name)?.spec?.controller === GATEWAY_CONTROLLER;
}
