/**
 * Requests content of a mirror: answers its challenges and follows its redirects. Credentials go to the mirror and the
 * authorization server that it names, never to where it redirects. Upstream: containerd's remotes/docker/resolver.go.
 */
import type { HttpAnswer } from '../../platform/net.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Mirror, RegistryAuth } from './mirror.ts';
import { mirrorTls, type TlsFor } from './mirror-tls.ts';
import { RegistryTokens, type Pull } from './registry-tokens.ts';

export interface ContentRequest {
  readonly method: 'GET' | 'HEAD';
  /** The repository's name at the mirror. */
  readonly repository: string;
  /** What follows the name, such as `/manifests/1`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Credentials of the client, which replace those of the mirror. */
  readonly auth: RegistryAuth | undefined;
  readonly signal: AbortSignal;
}

/** As Go's http.Client. */
const MAX_REDIRECTS = 10;
const HEAD_TIMEOUT_MS = 30_000;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export class MirrorClient {
  readonly #net: Platform['net'];
  readonly #mirror: Mirror;
  readonly #base: URL;
  readonly #tls: TlsFor;
  readonly #tokens: RegistryTokens;

  constructor({ net, clock, files }: Pick<Platform, 'net' | 'clock' | 'files'>, mirror: Mirror) {
    this.#net = net;
    this.#mirror = mirror;
    this.#base = new URL(mirror.url);
    this.#tls = mirrorTls(files, this.#base, mirror.tls);
    this.#tokens = new RegistryTokens({ net, clock, tls: this.#tls, isSecure: this.#base.protocol === 'https:' });
  }

  /** Resolves with the head of the answer; that of a 401 is cancelled. Rejects where no answer comes. */
  async open(request: ContentRequest): Promise<HttpAnswer> {
    const { repository, signal } = request;
    const pull: Pull = { repository, auth: request.auth ?? this.#mirror.auth, signal };
    const first = withoutRefusal(await this.#follow(request, this.#tokens.known(pull)));
    if (first.status !== 401) return first;
    const authorization = await this.#tokens.answer(first.headers['www-authenticate'] ?? '', pull);
    return authorization === undefined ? first : withoutRefusal(await this.#follow(request, authorization));
  }

  async #follow(request: ContentRequest, authorization: string | undefined): Promise<HttpAnswer> {
    const { method, repository, path, signal } = request;
    let url = new URL(`${this.#mirror.url}/${repository}${path}`);
    for (let redirects = 0; ; redirects++) {
      const isMirror = url.origin === this.#base.origin;
      const headers = { ...request.headers, ...(isMirror && authorization !== undefined ? { authorization } : {}) };
      const tls = await this.#tls(url);
      const answer = await this.#net.http({
        method,
        url: url.href,
        headers,
        tls,
        signal,
        headTimeoutMs: HEAD_TIMEOUT_MS,
      });
      const location = answer.headers['location'];
      if (!REDIRECTS.has(answer.status) || location === undefined) return isMirror ? answer : unchallenged(answer);
      answer.cancel();
      if (redirects === MAX_REDIRECTS) throw new Error(`${this.#base.host} redirects more than ${MAX_REDIRECTS} times`);
      url = nextUrl(url, location);
    }
  }
}

/** Nobody reads the body of a refusal. */
function withoutRefusal(answer: HttpAnswer): HttpAnswer {
  if (answer.status === 401) answer.cancel();
  return answer;
}

/** Without a password in the URL, which would be sent as credentials. */
function nextUrl(from: URL, location: string): URL {
  if (!URL.canParse(location, from.href)) throw new Error(`${from.host} redirects to what is no URL`);
  const url = new URL(location, from);
  if (url.protocol !== 'https:' && url.protocol !== from.protocol)
    throw new Error(`${from.host} redirects to ${url.protocol}//${url.host}`);
  url.username = '';
  url.password = '';
  return url;
}

/** Challenges of other hosts are not answered. */
function unchallenged(answer: HttpAnswer): HttpAnswer {
  const { 'www-authenticate': _challenge, ...headers } = answer.headers;
  return { ...answer, headers };
}
