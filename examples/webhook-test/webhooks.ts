/** The webhooks of the databases: one fills in the version, one refuses disks that shrink. Plain functions of a review. */

/** What of a review they read. */
export interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: {
    readonly uid: string;
    readonly object: Database;
    readonly oldObject?: Database | null;
  };
}

/** A database. */
export interface Database {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly engine: string; readonly version?: string; readonly gigabytes: number };
}

const newest: Readonly<Record<string, string>> = { postgres: '18', mysql: '9' };

const answer = ({ apiVersion, kind, request }: Review, response: object): object => ({
  apiVersion,
  kind,
  response: { uid: request.uid, ...response },
});

/** Mutating: whoever names no version gets the newest of the engine. */
export function fillVersion(review: Review): object {
  const { spec } = review.request.object;
  if (spec.version !== undefined) return answer(review, { allowed: true });
  const patch = [{ op: 'add', path: '/spec/version', value: newest[spec.engine] }];
  return answer(review, {
    allowed: true,
    patchType: 'JSONPatch',
    patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
  });
}

/** Validating: a disk may grow, not shrink. */
export function refuseShrinking(review: Review): object {
  const { object, oldObject } = review.request;
  const [now, before] = [object.spec.gigabytes, oldObject?.spec.gigabytes ?? 0];
  if (now >= before) return answer(review, { allowed: true });
  return answer(review, {
    allowed: false,
    status: {
      code: 403,
      message: `the disk of ${object.metadata.name} holds ${before} GB and cannot shrink to ${now}`,
    },
  });
}
