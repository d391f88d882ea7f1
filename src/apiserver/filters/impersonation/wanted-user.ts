/** The user that a request's headers impersonate. Upstream: processImpersonationHeaders. */
import { badRequest } from '../../../api/status-error.ts';
import type { ApiRequest } from '../../../api/transport.ts';
import { addExtra, type HeaderExtra, nameInHeader, namesInHeader } from '../../authn/header-names.ts';

const PREFIX = 'impersonate-';
const EXTRA = 'impersonate-extra-';
const TRAITS = new Set(['impersonate-user', 'impersonate-group', 'impersonate-uid']);

/** The values of the headers, without additions. */
export interface WantedUser {
  readonly name: string;
  /** '': none. */
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** Whether the request carries impersonation headers. */
export function wantsImpersonation(request: ApiRequest): boolean {
  for (const name in request.headers)
    if (name.startsWith(PREFIX) && (TRAITS.has(name) || name.startsWith(EXTRA))) return true;
  return false;
}

/** The user; undefined when all headers are empty. Throws 400 when there are traits without a name. */
export function wantedUser(request: ApiRequest): WantedUser | undefined {
  const { headers } = request;
  const extra: HeaderExtra = {};
  for (const header of Object.keys(headers))
    if (header.startsWith(EXTRA)) addExtra(extra, header.slice(EXTRA.length), namesInHeader(request, header));
  const wanted: WantedUser = {
    name: nameInHeader('Impersonate-User', headers['impersonate-user'] ?? ''),
    uid: nameInHeader('Impersonate-Uid', headers['impersonate-uid'] ?? ''),
    groups: namesInHeader(request, 'impersonate-group'),
    extra,
  };
  if (wanted.name !== '') return wanted;
  if (wanted.uid === '' && wanted.groups.length === 0 && Object.keys(extra).length === 0) return undefined;
  throw badRequest(`requested ${asUpstreamPrints(wanted)} without impersonating a user name`);
}

function asUpstreamPrints({ uid, groups, extra }: WantedUser): string {
  const list = (values: readonly string[]): string => `[]string{${values.map((v) => JSON.stringify(v)).join(', ')}}`;
  const entries = Object.entries(extra).map(([key, values]) => `${JSON.stringify(key)}:${list(values)}`);
  const extraText = entries.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${entries.join(', ')}}`;
  const groupText = groups.length === 0 ? '[]string(nil)' : list(groups);
  return `&user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:${groupText}, Extra:${extraText}}`;
}
