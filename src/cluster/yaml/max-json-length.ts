/** The limit of a body's length as JSON: references repeat what they refer to. Upstream bounds the repetition alike. */
export const MAX_JSON_LENGTH = 6 * 1024 * 1024;
