/** The revisions of a StatefulSet. Upstream: stateful_set_control.go getStatefulSetRevisions, truncateHistory. */
import { deepEqual } from '../../base/equal.ts';
import { DecodeError, decodeTyped } from '../../api/codec/typed.ts';
import { setPodTemplateSpecDefaults } from '../../api/defaults/pod.ts';
import { ControllerRevisions, StatefulSets } from '../../api/gen/resources.ts';
import { typeSchema } from '../../api/schema/schema.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import { isReason } from '../../api/status-error.ts';
import type { ControllerRevision, StatefulSet } from '../../api/gen/apps-v1.ts';
import type { Pod, PodTemplateSpec } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Client } from '../../client/client.ts';
import { newControllerReference } from '../../component-helpers/owner-references.ts';
import {
  equalRevisions,
  revisionsEqualTo,
  nextRevisionNumber,
  storedTemplate,
  renumber,
  revisionHash,
  revisionName,
  sortRevisions,
  templateOf,
  templatePatch,
  truncateHistory,
} from '../controller-history.ts';
import { revisionOf } from './identity.ts';

const HASH_LABEL = 'controller.kubernetes.io/hash';

/** The pods' current revision, and the update revision. */
export interface StatefulHistory {
  readonly current: Stored<ControllerRevision>;
  readonly update: Stored<ControllerRevision>;
  readonly collisionCount: number;
}

export interface HistoryInput {
  readonly client: Client;
  readonly set: Stored<StatefulSet>;
  /** Revisions the set controls. */
  readonly revisions: readonly Stored<ControllerRevision>[];
  readonly signal: AbortSignal;
  /** Yields to the event loop: a template may have a megabyte. */
  readonly pause: () => Promise<void>;
}

/** Finds or creates the revision of the current template, and gives it the highest number. */
export async function resolveRevisions(input: HistoryInput): Promise<StatefulHistory> {
  const { client, set, signal } = input;
  const revisions = sortRevisions(input.revisions);
  const data = templatePatch(set.spec?.template ?? {});
  const wanted: ControllerRevision = { metadata: {}, data, revision: nextRevisionNumber(revisions) };
  const { value: newestEqual } = await revisionsEqualTo(revisions.toReversed(), wanted, input.pause).next();
  const equal = newestEqual ?? revisions.slice(-1).find((newest) => meansTheSame(newest, set));
  let collisionCount = set.status?.collisionCount ?? 0;
  let update: Stored<ControllerRevision>;
  if (equal === undefined) ({ revision: update, collisionCount } = await createRevision(input, wanted, collisionCount));
  else if (equal === revisions.at(-1)) update = equal;
  else update = await renumber(client, equal, wanted.revision, signal);
  const current = revisions.find((revision) => revision.metadata.name === set.status?.currentRevision) ?? update;
  return { current, update, collisionCount };
}

/**
 * Whether a revision differs from the current template only in how another release wrote it: defaults it did not
 * know, null or empty fields, other spellings of quantities. Pods are not recreated for that. The revision's template
 * is encoded as today's release would and then compared. Applied to the newest revision alone, which is the one that
 * pods have. Upstream: setMatchesLatestExistingRevision, the gate StatefulSetSemanticRevisionComparison.
 */
function meansTheSame(revision: ControllerRevision, set: StatefulSet): boolean {
  try {
    return deepEqual(asWrittenToday(templateOf(revision)), asWrittenToday(set.spec?.template ?? {}));
  } catch (error) {
    // Data that does not decode as a template is a different one.
    if (error instanceof DecodeError) return false;
    throw error;
  }
}

function asWrittenToday(template: PodTemplateSpec): PodTemplateSpec {
  const schema = typeSchema('core.v1.PodTemplateSpec') as StructSchema;
  const written: PodTemplateSpec = decodeTyped(schema, template).object;
  setPodTemplateSpecDefaults(written);
  return written;
}

/** Keeps revisionHistoryLimit revisions that no pod has. */
export async function cleanUpHistory(
  input: HistoryInput,
  history: StatefulHistory,
  pods: readonly Pod[],
): Promise<void> {
  const live = new Set([history.current.metadata.name, history.update.metadata.name, ...pods.map(revisionOf)]);
  const limit = input.set.spec?.revisionHistoryLimit ?? 10;
  await truncateHistory(input.client, { revisions: input.revisions, live, limit }, input.signal);
}

async function createRevision(
  { client, set, signal }: HistoryInput,
  wanted: ControllerRevision,
  firstCount: number,
): Promise<{ revision: Stored<ControllerRevision>; collisionCount: number }> {
  const { namespace, name: setName, annotations } = set.metadata;
  const resource = client.resource(ControllerRevisions);
  for (let collisionCount = firstCount; ; collisionCount++) {
    const hash = revisionHash(wanted.data, collisionCount === 0 ? undefined : collisionCount);
    const name = revisionName(setName, hash);
    const metadata = {
      namespace,
      name,
      labels: { ...set.spec?.template.metadata?.labels, [HASH_LABEL]: hash },
      annotations: { ...annotations },
      ownerReferences: [newControllerReference(set, StatefulSets)],
    };
    try {
      return {
        revision: await resource.create({ ...wanted, data: storedTemplate(wanted.data), metadata }, { signal }),
        collisionCount,
      };
    } catch (error) {
      if (!isReason(error, 'AlreadyExists')) throw error;
      const existing = await resource.get({ namespace, name }, { signal });
      if (equalRevisions(existing, wanted)) return { revision: existing, collisionCount };
    }
  }
}
