//! Forms of keys and of attributes' names: texts in which a name in angle brackets stands for what differs.

/// The names that, at the end of a key, may stand for a text with separators.
const WITH_SEPARATORS: [&str; 4] = ["key", "place", "asset", "operation"];
const SEPARATOR: char = '#';

/// The part of a form before its first name, that name, and the rest; `None` without a name.
fn split(form: &'static str) -> Option<(&'static str, &'static str, &'static str)> {
    let (before, rest) = form.split_once('<')?;
    let (name, after) = rest.split_once('>')?;
    Some((before, name, after))
}

/// What a key has in the place of each name of its form; `None` if the key does not have the form.
pub(super) fn values_in(form: &'static str, key: &str) -> Option<Vec<(&'static str, String)>> {
    let Some((before, name, after)) = split(form) else { return (form == key).then(Vec::new) };
    let key = key.strip_prefix(before)?;
    let end = match key.find(SEPARATOR) {
        Some(_) if after.is_empty() && WITH_SEPARATORS.contains(&name) => key.len(),
        Some(end) => end,
        None => key.len(),
    };
    let (value, rest) = key.split_at_checked(end)?;
    let mut values = vec![(name, value.to_owned())];
    values.extend(values_in(after, rest)?);
    (!value.is_empty()).then_some(values)
}

/// Whether an attribute's name has a form. A name in angle brackets stands for any text that is not empty.
pub(super) fn matches_name(form: &'static str, name: &str) -> bool {
    let Some((before, _, after)) = split(form) else { return form == name };
    let Some(rest) = name.strip_prefix(before) else { return false };
    let ends = rest.char_indices().map(|(at, _)| at).skip(1).chain([rest.len()]);
    let mut rests = ends.filter(|at| *at > 0).filter_map(|at| rest.get(at..));
    rests.any(|rest| matches_name(after, rest))
}

/// The number of bytes that every text of a form has.
pub(super) fn literal_bytes(form: &'static str) -> usize {
    match split(form) {
        Some((before, _, after)) => before.len().saturating_add(literal_bytes(after)),
        None => form.len(),
    }
}
