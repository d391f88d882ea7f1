/** Warnings about finalizers of custom resources. Upstream: customresource/strategy.go generateWarningsFromObj. */
import { isStandardFinalizer } from '../../api/meta-validation.ts';
import { isQualifiedName } from '../../api/names.ts';
import type { KubernetesObject } from '../../api/object.ts';

/** Warnings about added finalizers whose names are invalid or not qualified by a domain. */
export function finalizerWarnings(object: KubernetesObject, old: KubernetesObject | undefined): string[] {
  const existing = new Set(old?.metadata.finalizers);
  const added = new Set((object.metadata.finalizers ?? []).filter((finalizer) => !existing.has(finalizer)));
  return [...added].toSorted().flatMap(warningsOf);
}

function warningsOf(finalizer: string): string[] {
  const about = `metadata.finalizers: ${JSON.stringify(finalizer)}: `;
  const texts = isQualifiedName(finalizer).map((text) => about + text);
  if (finalizer.includes('/') || isStandardFinalizer(finalizer)) return texts;
  const path = finalizer.includes('.') ? ' including a path (/)' : '';
  const advice = `prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`;
  return [...texts, about + advice];
}
