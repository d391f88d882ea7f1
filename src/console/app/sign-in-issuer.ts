/** The OpenID Connect issuer that the server offers for signing in. */
import { ApiError, sendJson } from '../api/http.ts';

/** Its host; undefined where none is configured, or the server does not answer. */
export async function findSignInIssuer(): Promise<string | undefined> {
  try {
    return (await sendJson<{ readonly host?: string }>('/console/oidc')).host;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return undefined;
  }
}
