/** `keelson why requests` and `keelson why request/ID`: what was refused, and by whom. */
import type { RefusedRequest } from '../../component-helpers/refused-request.ts';
import { StatusError } from '../../api/status-error.ts';
import { explainRefusal } from '../../why/explain.ts';
import { findRefused, listRefused } from '../../why/requests/read-refused.ts';
import { columns } from '../columns.ts';
import { UserError } from '../usage-error.ts';
import { answerText } from './answer.ts';
import { type ClusterChoice, openKubeClient } from '../kube-client.ts';

export interface RequestsQuestion extends ClusterChoice {
  /** Absent: all that are known. */
  readonly id?: string;
  /** All users' requests, not only the caller's. */
  readonly allNamespaces?: true;
  readonly output: string;
}

/** The question when the words of a command ask about refused requests. */
export function requestsAskedFor([first = '', second, ...more]: readonly string[]):
  | { readonly id?: string }
  | undefined {
  if (first === 'requests' && second === undefined) return {};
  if (first.startsWith('request/') && second === undefined) return { id: first.slice('request/'.length) };
  return first === 'request' && second !== undefined && more.length === 0 ? { id: second } : undefined;
}

/** The answer as text. Rejects with `UserError` when the cluster remembers no such request. */
export async function requestsText(question: RequestsQuestion): Promise<string> {
  const { id, allNamespaces, output } = question;
  const { client, nowMs, close } = await openKubeClient(question, 'keelson-why');
  try {
    if (id === undefined) return tableText(await listRefused(client, allNamespaces === true), output);
    const refusedRequest = await findRefused(client, id);
    if (refusedRequest === undefined) {
      // A server that remembers none refuses this.
      await listRefused(client, false);
      throw new UserError(
        `why: no refused request ${id} is known: its server may have forgotten it, or it is not yours`,
      );
    }
    return await answerText([await explainRefusal(refusedRequest, { client, nowMs: nowMs() })], {
      output,
      isList: false,
    });
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const text = error.reason === 'NotFound' ? 'this server remembers none: it is not Keelson' : error.message;
    throw new UserError(`why: refused requests cannot be read: ${text}`);
  } finally {
    close();
  }
}

function tableText(requests: readonly RefusedRequest[], output: string): string {
  if (output === 'json') return `${JSON.stringify(requests, undefined, 2)}\n`;
  if (requests.length === 0) return 'no request of yours was refused, as far as this server remembers\n';
  const rows = requests.map(({ id, time, user, verb, path, code, refusedBy }) => {
    const { part, plugin, webhook } = refusedBy;
    return [id, time, user, `${verb} ${path}`, `${code}`, webhook?.name ?? plugin ?? part];
  });
  return columns([['ID', 'TIME', 'USER', 'REQUEST', 'CODE', 'REFUSED BY'], ...rows]);
}
