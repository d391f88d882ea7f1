/** The inputs of the console's sign-in by OpenID Connect. */
import type { AuthorizationServer as Metadata } from 'oauth4webapi';
import type { CryptoPort } from '../../../platform/crypto.ts';
import type { Log } from '../../../platform/log.ts';
import type { IssuerHttpDeps } from '../../authn/issuer-http.ts';

/** The issuer that the console's users sign in at: one whose ID tokens the API server accepts. */
export interface SignInIssuer {
  readonly issuerUrl: string;
  /** The URL of the discovery document, unless it is below the issuer's URL. */
  readonly discoveryUrl?: string | undefined;
  /** Authority of the issuer's certificate. Absent: the system's. */
  readonly caPem?: string | undefined;
  readonly clientId: string;
  /** Reads the client's secret. Absent: a public client, which PKCE alone protects. */
  readonly clientSecret?: (() => Promise<string>) | undefined;
}

export interface OidcSignIn extends IssuerHttpDeps {
  readonly crypto: Pick<CryptoPort, 'webcrypto' | 'timingSafeEqual'>;
  /** Logs why sign-ins fail. */
  readonly log: Log;
  /** The present issuer; undefined while the reloaded configuration has none for the console. */
  readonly issuer: () => Promise<SignInIssuer | undefined>;
  /** The origins to which the issuer may send browsers back. Absent: those of `servingNames`, with any port. */
  readonly redirectOrigins?: readonly string[] | undefined;
  /** The names and addresses that the server's certificates are for. */
  readonly servingNames: () => readonly string[];
}

/** An issuer with its discovery document. */
export interface AuthorizationServer {
  readonly issuer: SignInIssuer;
  readonly metadata: Metadata;
}
