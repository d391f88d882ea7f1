/**
 * Parses and writes the few flat XML documents of S3 that are needed here. Pure. A general XML parser would be a
 * hundred times as large.
 */

/** An object in a bucket. */
export interface S3Object {
  readonly key: string;
  readonly sizeBytes: number;
  /** RFC 3339. */
  readonly lastModified: string;
}

export interface S3Listing {
  readonly objects: readonly S3Object[];
  /** The token of the next page; undefined on the last page. */
  readonly continuationToken: string | undefined;
}

/** The most objects in a page of S3. */
const PAGE_OBJECTS = 1000;

/**
 * Parses the response of ListObjectsV2 with `encoding-type=url`; undefined when it has more objects than a page may
 * have.
 */
export function readListing(xml: string): S3Listing | undefined {
  const objects: S3Object[] = [];
  for (const text of elements(xml, 'Contents')) {
    if (objects.length === PAGE_OBJECTS) return undefined;
    objects.push({
      key: decodeUrl(textOfElement(text, 'Key') ?? ''),
      sizeBytes: Number(textOfElement(text, 'Size') ?? 0),
      lastModified: textOfElement(text, 'LastModified') ?? '',
    });
  }
  const isTruncated = textOfElement(xml, 'IsTruncated') === 'true';
  return { objects, continuationToken: isTruncated ? textOfElement(xml, 'NextContinuationToken') : undefined };
}

/** Parses the response of CreateMultipartUpload. */
export function readUploadId(xml: string): string | undefined {
  return textOfElement(xml, 'UploadId');
}

/** Code and message of an error document; undefined for any other text. */
export function readError(xml: string): { readonly code: string; readonly message: string } | undefined {
  const start = /<Error[ >]/.exec(xml)?.index;
  const end = xml.lastIndexOf('</Error>');
  if (start === undefined || end < start) return undefined;
  const error = xml.slice(start, end);
  const code = textOfElement(error, 'Code');
  return code === undefined ? undefined : { code, message: textOfElement(error, 'Message') ?? '' };
}

/** The body of CompleteMultipartUpload. */
export function completeBody(etags: readonly string[]): string {
  const parts = etags.map(
    (etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
  );
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`;
}

/** The content of each element of a name, up to the first that is not closed. Linear in the length of the text. */
function* elements(xml: string, name: string): Generator<string> {
  const [open, close] = [`<${name}>`, `</${name}>`];
  let at = 0;
  for (;;) {
    const start = xml.indexOf(open, at);
    const end = start < 0 ? -1 : xml.indexOf(close, start);
    if (end < 0) return;
    yield xml.slice(start + open.length, end);
    at = end + close.length;
  }
}

function textOfElement(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text === undefined ? undefined : unescapeXml(text);
}

const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function unescapeXml(text: string): string {
  return text.replace(/&(#x[0-9a-fA-F]{1,6}|#\d{1,7}|[a-z]+);/g, (whole, name: string) => {
    if (!name.startsWith('#')) return NAMED[name] ?? whole;
    const code = name[1] === 'x' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code <= 0x10_ffff ? String.fromCodePoint(code) : whole;
  });
}

function escapeXml(text: string): string {
  return text.replace(/[<>&"']/g, (each) => `&#${each.charCodeAt(0)};`);
}

function decodeUrl(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
