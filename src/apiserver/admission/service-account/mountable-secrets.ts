/**
 * Restricts the secrets that a service account's pods may refer to, when its annotation
 * `kubernetes.io/enforce-mountable-secrets` limits them to its own secrets. Upstream: limitSecretReferences of
 * plugin/pkg/admission/serviceaccount.
 *
 * Differs: secrets in projected volumes are limited as well.
 */
import { parseGoBoolean } from '../../../base/go-boolean.ts';
import type { Container, EphemeralContainer, PodSpec, ServiceAccount } from '../../../api/gen/core-v1.ts';

const ANNOTATION = 'kubernetes.io/enforce-mountable-secrets';

/** Whether the annotation of the account limits its pods. */
export function isLimited({ metadata }: ServiceAccount): boolean {
  const text = metadata.annotations?.[ANNOTATION];
  return text !== undefined && parseGoBoolean(text) === true;
}

/** The error text for a pod that names a secret it may not; undefined when it names none. */
export function secretProblem(account: ServiceAccount, spec: PodSpec): string | undefined {
  const mountable = new Set((account.secrets ?? []).map(({ name }) => name));
  const refused = `is not allowed because service account ${account.metadata.name} does not reference that secret`;
  for (const { secret, projected } of spec.volumes ?? [])
    for (const name of [secret?.secretName, ...(projected?.sources ?? []).map((source) => source.secret?.name)])
      if (name !== undefined && !mountable.has(name)) return `volume with secret.secretName="${name}" ${refused}`;
  for (const [kind, containers] of [
    ['init container', spec.initContainers],
    ['container', spec.containers],
    ['ephemeral container', spec.ephemeralContainers],
  ] as const)
    for (const container of containers ?? []) {
      const found = foreignSecret(container, mountable);
      if (found !== undefined) return `${kind} ${container.name} with ${found} ${refused}`;
    }
  const pulls = new Set((account.imagePullSecrets ?? []).map(({ name }) => name));
  for (const [index, { name }] of (spec.imagePullSecrets ?? []).entries())
    if (!pulls.has(name))
      return `imagePullSecrets[${index}].name="${name}" is not allowed because service account ${account.metadata.name} does not reference that imagePullSecret`;
  return undefined;
}

function foreignSecret(
  { env, envFrom }: Container | EphemeralContainer,
  mountable: ReadonlySet<string | undefined>,
): string | undefined {
  for (const { name, valueFrom } of env ?? []) {
    const secret = valueFrom?.secretKeyRef;
    if (secret !== undefined && !mountable.has(secret.name))
      return `envVar ${name} referencing secret.secretName="${secret.name}"`;
  }
  for (const { secretRef } of envFrom ?? [])
    if (secretRef !== undefined && !mountable.has(secretRef.name))
      return `envFrom referencing secret.secretName="${secretRef.name}"`;
  return undefined;
}
