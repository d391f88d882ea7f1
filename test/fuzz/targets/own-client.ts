// The fuzzer's well-behaved client: JSON requests and responses on one connection.
import { H1Client } from '../transports/h1.ts';
import type { Access } from '../transports/access.ts';
import type { Answer } from '../exchange.ts';

export interface JsonAnswer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly answer: Answer;
}

export class OwnClient {
  readonly #client: H1Client;

  constructor(access: Access) {
    this.#client = new H1Client(access);
  }

  /** @throws Error when there is no response within the deadline */
  async send(
    method: string,
    path: string,
    value?: unknown,
    headers: readonly (readonly [string, string])[] = [],
  ): Promise<JsonAnswer> {
    const answer = await this.#client.send({
      kind: 'http',
      over: 'h1',
      method,
      path,
      headers: value === undefined ? headers : [['Content-Type', 'application/json'], ...headers],
      ...(value !== undefined && { body: Buffer.from(JSON.stringify(value)).toString('latin1') }),
    });
    if (answer.outcome !== 'answered') throw new Error(`${method} ${path}: ${answer.outcome}`);
    const text = answer.body?.toString() ?? '';
    const body = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : { text };
    return { status: answer.status!, body, answer };
  }

  close(): void {
    this.#client.close();
  }
}
