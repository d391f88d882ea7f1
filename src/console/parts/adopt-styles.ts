/** Style sheets of packages: the page's policy forbids elements of style, so the document adopts their rules. */

/** Adopts the rules of a text; the returned function takes them away. */
export function adoptStyles(css: string): () => void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets.push(sheet);
  return () => releaseStyles(sheet);
}

export function releaseStyles(sheet: CSSStyleSheet): void {
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
}
