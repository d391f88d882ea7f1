// Parses one HTTP/1.1 response strictly: anything that a proxy could read differently is an error.

export interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Head {
  readonly status: number;
  readonly headers: Record<string, string>;
}

function readHead(text: string): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})( [^\r\n]*)?$/.exec(first)?.[1]);
  if (Number.isNaN(status)) throw new Error(`not a status line: ${JSON.stringify(first.slice(0, 200))}`);
  const headers = Object.create(null) as Record<string, string>;
  for (const line of lines) {
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(line);
    if (match === null) throw new Error(`not a header: ${JSON.stringify(line.slice(0, 200))}`);
    const name = match[1]!.toLowerCase();
    headers[name] = name in headers ? `${headers[name]}, ${match[2]}` : match[2]!;
  }
  return { status, headers };
}

export class ResponseReader {
  readonly #isHead: boolean;
  #buffer: Buffer = Buffer.alloc(0);
  #head: Head | undefined;
  readonly #body: Buffer[] = [];
  #missing = 0;

  constructor(method: string) {
    this.#isHead = method === 'HEAD';
  }

  /** The head, before the body has ended. */
  get head(): Head | undefined {
    return this.#head;
  }

  /** The response once it is complete. @throws Error for what no server may send */
  push(chunk: Buffer): Response | undefined {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    while (this.#head === undefined) {
      const end = this.#buffer.indexOf('\r\n\r\n');
      if (end < 0) return undefined;
      const head = readHead(this.#buffer.subarray(0, end).toString('latin1'));
      this.#buffer = this.#buffer.subarray(end + 4);
      if (head.status >= 200 || head.status === 101) this.#begin(head);
    }
    return this.#isWhole(this.#head) ? { ...this.#head, body: Buffer.concat(this.#body) } : undefined;
  }

  #begin(head: Head): void {
    this.#head = head;
    this.#missing = Number(head.headers['content-length'] ?? (head.headers['transfer-encoding'] ? 0 : NaN));
  }

  #isWhole({ status, headers }: Head): boolean {
    if (this.#isHead || status === 204 || status === 304 || status === 101) return true;
    if (headers['transfer-encoding'] === 'chunked') return this.#readChunks();
    this.#take(Math.min(this.#missing, this.#buffer.length));
    return this.#missing === 0;
  }

  #readChunks(): boolean {
    for (;;) {
      if (this.#missing > 2) this.#take(Math.min(this.#missing - 2, this.#buffer.length));
      if (this.#missing > 0) {
        if (this.#missing > 2 || this.#buffer.length < this.#missing) return false;
        this.#buffer = this.#buffer.subarray(this.#missing);
        this.#missing = 0;
      }
      const end = this.#buffer.indexOf('\r\n');
      if (end < 0) return false;
      const size = parseInt(this.#buffer.subarray(0, end).toString('latin1'), 16);
      if (Number.isNaN(size)) throw new Error('not a chunk');
      if (size === 0) return this.#buffer.length >= end + 4;
      this.#buffer = this.#buffer.subarray(end + 2);
      this.#missing = size + 2;
    }
  }

  #take(length: number): void {
    if (length === 0) return;
    this.#body.push(this.#buffer.subarray(0, length));
    this.#buffer = this.#buffer.subarray(length);
    this.#missing -= length;
  }
}
