/** Sends changes to a server and returns its answers without values that differ between any two servers. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Sample, Verb } from './samples-fixture.ts';

/** One request. */
export type Send = (method: string, path: string, body?: unknown) => Promise<{ status: number; body: unknown }>;

/** Field, reason and text of one complaint. */
export type Complaint = readonly [field: string, reason: string, text: string];

/** The answer of the server: undefined for a success. */
export interface Answer {
  readonly code: number;
  readonly reason?: string;
  readonly message?: string;
  readonly causes?: readonly Complaint[];
}

interface StatusBody {
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { field?: string; reason?: string; message?: string }[] };
}

function withoutIdentity(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gu, 'UID')
    .replaceAll(/\\?"creationTimestamp\\?":\\?"[^"]*"/gu, '"creationTimestamp":"TIME"')
    .replaceAll(/\\?"resourceVersion\\?":\\?"\d+\\?"/gu, '"resourceVersion":"N"');
}

function answerOf({ status: code, body }: { status: number; body: unknown }): Answer {
  if (code < 400) return { code };
  const { reason = '', message = '', details } = (body ?? {}) as StatusBody;
  const causes = (details?.causes ?? []).map(
    (cause) => [cause.field ?? '', cause.reason ?? '', withoutIdentity(cause.message ?? '')] as const,
  );
  return { code, reason, message: withoutIdentity(message), causes };
}

/** One server. */
export class Asker {
  readonly #send: Send;
  readonly #infos: readonly ResourceInfo[];
  #present: KubernetesObject | undefined;

  constructor(send: Send, infos: readonly ResourceInfo[]) {
    this.#send = send;
    this.#infos = infos;
  }

  #path({ group, version, kind }: Sample): string {
    const info = this.#infos.find((known) => known.group === group && known.version === version && known.kind === kind);
    if (info === undefined) throw new Error(`${group}/${version} ${kind} is not served`);
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    return `${root}${info.namespaced ? '/namespaces/default' : ''}/${info.resource}`;
  }

  /** Makes the object that is to be updated. */
  async prepare(sample: Sample, verb: Verb): Promise<void> {
    if (verb === 'create') return;
    const path = this.#path(sample);
    const made = await this.#send('POST', path, sample.object);
    if (made.status >= 400) throw new Error(`${sample.name}: ${JSON.stringify(made.body)}`);
    this.#present = made.body as KubernetesObject;
    if (verb !== 'status') return;
    const { resourceVersion } = this.#present.metadata;
    const metadata = { ...sample.object.metadata, resourceVersion };
    const put = await this.#send('PUT', `${path}/${sample.object.metadata.name}/status`, {
      ...sample.object,
      metadata,
      status: sample.status,
    });
    if (put.status >= 400) process.stderr.write(`${sample.name} status: ${JSON.stringify(put.body)}\n`);
    else this.#present = put.body as KubernetesObject;
  }

  async remove(sample: Sample): Promise<void> {
    if (this.#present === undefined) return;
    this.#present = undefined;
    await this.#send(
      'DELETE',
      `${this.#path(sample)}/${sample.object.metadata.name}?gracePeriodSeconds=0&propagationPolicy=Background`,
    );
  }

  /** The answer to a request with this object, as a dry run. */
  async ask(sample: Sample, verb: Verb, object: unknown): Promise<Answer> {
    const path = this.#path(sample);
    if (verb === 'create') return answerOf(await this.#send('POST', `${path}?dryRun=All`, object));
    const { metadata, ...rest } = object as KubernetesObject;
    const place = `${path}/${sample.object.metadata.name}`;
    const put = async (): ReturnType<Send> => {
      const { resourceVersion = '' } = this.#present?.metadata ?? {};
      const body = { ...rest, metadata: { ...metadata, resourceVersion } };
      return await this.#send('PUT', `${place}${verb === 'status' ? '/status' : ''}?dryRun=All`, body);
    };
    const answer = await put();
    if (answer.status !== 409) return answerOf(answer);
    // A controller of the server changed it meanwhile.
    this.#present = (await this.#send('GET', place)).body as KubernetesObject;
    return answerOf(await put());
  }
}
