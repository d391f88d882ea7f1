/**
 * Rewrites links and redirects of pages behind a proxy path, which refer to paths of their own server, to paths below
 * the proxy's. Upstream: apimachinery util/proxy.Transport; its list of elements and attributes.
 */

/** The page's address for the client, and its address at the backend. */
export interface PagePlace {
  /** The server's address for the client: `https://host:port`. */
  readonly origin: string;
  /** The path up to `/proxy`. */
  readonly prefix: string;
  /** The path requested from the backend. */
  readonly source: string;
}

/** Attributes with an address, by element. */
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  applet: ['codebase'],
  area: ['href'],
  audio: ['src'],
  base: ['href'],
  blockquote: ['cite'],
  body: ['background'],
  button: ['formaction'],
  command: ['icon'],
  del: ['cite'],
  embed: ['src'],
  form: ['action'],
  frame: ['longdesc', 'src'],
  head: ['profile'],
  html: ['manifest'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['src', 'usemap', 'formaction'],
  ins: ['cite'],
  link: ['href'],
  object: ['classid', 'codebase', 'data', 'usemap'],
  q: ['cite'],
  script: ['src'],
  source: ['src'],
  video: ['poster', 'src'],
};

/** An address in the page as the client must request it. Addresses of other hosts and relative ones stay unchanged. */
export function seenAddress(text: string, { origin, prefix, source }: PagePlace): string {
  const from = new URL(source);
  const match = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)([^]*)$/i.exec(text);
  const [, scheme, host, path = '', rest = ''] = match ?? [];
  // The client's text, which may not be valid in a URL.
  const own = origin.slice(origin.indexOf('//') + 2);
  const foreign = host !== undefined && host !== from.host && host !== own;
  if (foreign || !path.startsWith('/') || (scheme !== undefined && host === undefined)) return text;
  const start = host === undefined ? '' : origin;
  return path.startsWith(prefix) ? start + path + rest : start + prefix + path + rest;
}

/** No part may match in several ways or contain another `<`, so that matching takes linear time for hostile pages. */
const TAG = /<([a-z][a-z0-9]*)(?![a-z0-9])((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>/gi;
const ATTRIBUTE = /(?<=\s)([a-z]+)(\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)/gi;
/** A longer tag is not treated as one, so that pages are not buffered for it. */
const LONGEST_TAG = 64 * 1024;

function rewrite(html: string, place: PagePlace): string {
  return html.replaceAll(TAG, (whole: string, element: string, inside: string) => {
    const named = ATTRIBUTES[element.toLowerCase()];
    if (named === undefined) return whole;
    const changed = inside.replaceAll(ATTRIBUTE, (...[all, name = '', is = '', value = '']: string[]) => {
      if (!named.includes(name.toLowerCase())) return all!;
      const quote = /^["']/.exec(value)?.[0] ?? '';
      const bare = quote === '' ? value : value.slice(1, -1);
      return `${name}${is}${quote}${seenAddress(bare, place)}${quote}`;
    });
    return `<${element}${changed}>`;
  });
}

/** The page with its links rewritten, streamed. Other bytes are unchanged. */
export async function* seenPage(chunks: AsyncIterable<Uint8Array>, place: PagePlace): AsyncGenerator<Uint8Array> {
  let rest = '';
  for await (const chunk of chunks) {
    const text = rest + Buffer.from(chunk).toString('latin1');
    const open = text.lastIndexOf('<');
    const isWhole = open < 0 || text.includes('>', open) || text.length - open > LONGEST_TAG;
    rest = isWhole ? '' : text.slice(open);
    const ready = isWhole ? text : text.slice(0, open);
    if (ready !== '') yield Buffer.from(rewrite(ready, place), 'latin1');
  }
  if (rest !== '') yield Buffer.from(rest, 'latin1');
}
