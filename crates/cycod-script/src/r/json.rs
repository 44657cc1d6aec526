//! What R returns becomes JSON: data frames become lists of rows, factors texts, and what is no data an error that says where.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

use crate::protocol::LONGEST_LINE;

use super::read::{Characters, DEEPEST, Data, Item};

/// Doubles above this may stand for another whole number than they show.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// Returns a value of R as JSON; the error says in R's words which part of it is no data.
pub(super) fn value(item: &Item<'_>) -> Result<Value, String> {
    Converter { path: Vec::new(), room: LONGEST_LINE }.value(item)
}

struct Converter {
    /// How to get from the result to what is looked at.
    path: Vec<String>,
    /// How many bytes may still be written of what R has once and JSON many times: labels and names.
    room: usize,
}

impl Converter {
    fn value(&mut self, item: &Item<'_>) -> Result<Value, String> {
        if let Data::Null = item.data {
            return Ok(Value::Null);
        }
        if item.is("data.frame") && matches!(item.data, Data::List(_)) {
            return self.rows(item).map(Value::Array);
        }
        let cells = self.cells(item)?;
        self.shape(item, cells)
    }

    /// The parts of a vector or list, one by one.
    fn cells(&mut self, item: &Item<'_>) -> Result<Vec<Value>, String> {
        match &item.data {
            Data::Null => Ok(Vec::new()),
            Data::Logical(values) => Ok(values
                .iter()
                .map(|value| match *value {
                    i32::MIN => Value::Null,
                    value => Value::Bool(value != 0),
                })
                .collect()),
            Data::Integer(codes) if item.is("factor") => {
                let levels = item.texts("levels").unwrap_or_default();
                let label = |code: &i32| usize::try_from(*code).ok()?.checked_sub(1).and_then(|at| levels.get(at));
                self.spend(codes.iter().filter_map(label).map(String::len).sum())?;
                Ok(codes.iter().map(|code| label(code).map_or(Value::Null, |label| label.as_str().into())).collect())
            }
            Data::Integer(values) => {
                let write = |value: i32| {
                    if item.is("octmode") {
                        format!("{value:o}").into()
                    } else if item.is("hexmode") {
                        format!("{value:x}").into()
                    } else {
                        Value::from(value)
                    }
                };
                if is_time(item) {
                    let whole = |value: &i32| if *value == i32::MIN { f64::NAN } else { f64::from(*value) };
                    return values.iter().map(|value| self.time(item, whole(value))).collect();
                }
                Ok(values.iter().map(|value| if *value == i32::MIN { Value::Null } else { write(*value) }).collect())
            }
            Data::Double(values) if item.is("integer64") => Ok(values
                .iter()
                .map(|value| match value.to_bits() as i64 {
                    i64::MIN => Value::Null,
                    value => Value::from(value),
                })
                .collect()),
            Data::Double(values) if is_time(item) => values.iter().map(|value| self.time(item, *value)).collect(),
            Data::Double(values) => Ok(values.iter().map(|value| number(*value)).collect()),
            Data::Complex(values) => Ok(values
                .iter()
                .map(|(real, imaginary)| {
                    if real.is_nan() || imaginary.is_nan() {
                        Value::Null
                    } else {
                        format!("{real}{imaginary:+}i").into()
                    }
                })
                .collect()),
            Data::Text(texts) => texts.iter().map(|text| self.text(*text)).collect(),
            Data::Raw(bytes) => Ok(vec![self.text(Characters::Utf8(bytes))?]),
            Data::List(items) if item.is("POSIXlt") => self.broken_down_times(item, items.len()),
            Data::List(items) if item.is("numeric_version") => Ok(items
                .iter()
                .map(|parts| match &parts.data {
                    Data::Integer(parts) if !parts.is_empty() => {
                        parts.iter().map(i32::to_string).collect::<Vec<_>>().join(".").into()
                    }
                    _ => Value::Null,
                })
                .collect()),
            Data::List(items) => {
                let names = item.texts("names").unwrap_or_default();
                let step = |at: usize| match names.get(at) {
                    Some(name) if !name.is_empty() => format!("${name}"),
                    _ => format!("[[{}]]", at + 1),
                };
                items.iter().enumerate().map(|(at, item)| self.inside(step(at), |inner| inner.value(item))).collect()
            }
            Data::Pairs(pairs) => {
                pairs.iter().map(|(name, item)| self.inside(format!("${name}"), |inner| inner.value(item))).collect()
            }
            Data::Other(what) => {
                let class = item.texts("class").and_then(|classes| classes.into_iter().next());
                let class = class.map(|class| format!(" of class `{class}`")).unwrap_or_default();
                Err(format!(
                    "`{}` is {what}{class}, which is no data; return text, numbers, lists or data frames",
                    self.place()
                ))
            }
        }
    }

    /// Puts cells into the form that dimensions and names give them.
    fn shape(&mut self, item: &Item<'_>, mut cells: Vec<Value>) -> Result<Value, String> {
        if let Some(dimensions) = dimensions(item, cells.len()) {
            let names: Vec<Option<Vec<String>>> = match item.attribute("dimnames").map(|names| &names.data) {
                Some(Data::List(names)) => names.iter().map(Item::as_texts).collect(),
                _ => Vec::new(),
            };
            if cells.is_empty() {
                return Ok(Value::Array(cells));
            }
            let mut groups = 1;
            for (size, names) in dimensions.iter().zip(&names) {
                self.spend(names.iter().flatten().map(String::len).sum::<usize>().saturating_mul(groups))?;
                groups *= size;
            }
            return Ok(nested(&mut cells, &dimensions, &names, 0, 1));
        }
        let names = match &item.data {
            Data::Pairs(pairs) => Some(pairs.iter().map(|(name, _)| name.clone()).collect()),
            // The names of its fields are not those of the times.
            _ if item.is("POSIXlt") => None,
            _ => item.texts("names"),
        };
        let is_list = matches!(item.data, Data::List(_) | Data::Pairs(_)) && !is_vector_class(item);
        if let Some(names) = names.filter(|names| if cells.is_empty() { is_list } else { says_more(names, &cells) }) {
            return Ok(object(&names, cells));
        }
        match cells.len() {
            1 if !is_list && !item.is("AsIs") => Ok(cells.swap_remove(0)),
            _ => Ok(Value::Array(cells)),
        }
    }

    /// The rows of a data frame, which keeps columns.
    fn rows(&mut self, item: &Item<'_>) -> Result<Vec<Value>, String> {
        let Data::List(columns) = &item.data else { return Ok(Vec::new()) };
        let names = unique(&item.texts("names").unwrap_or_default(), columns.len());
        let labels = item.texts("row.names");
        let count = match item.attribute("row.names").map(|names| &names.data) {
            // Numbered rows are kept as a missing value and their number, which is negative.
            Some(Data::Integer(rows)) if rows.first() == Some(&i32::MIN) => {
                rows.get(1).map_or(0, |count| count.unsigned_abs() as usize)
            }
            Some(Data::Integer(rows)) => rows.len(),
            _ => labels.as_ref().map_or(0, Vec::len),
        };
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        let mut cells = Vec::with_capacity(columns.len());
        for (name, column) in names.iter().zip(columns) {
            cells.push(self.inside(format!("${name}"), |inner| inner.column(column, count))?);
        }
        // Each column has as many cells as there are said to be rows, so that is what can be held.
        self.spend(names.iter().map(String::len).sum::<usize>().saturating_mul(count))?;
        let mut rows: Vec<Map<String, Value>> = (0..count).map(|_| Map::new()).collect();
        for (name, cells) in names.iter().zip(cells) {
            for (row, cell) in rows.iter_mut().zip(cells) {
                row.insert(name.clone(), cell);
            }
        }
        if let Some(labels) = labels {
            for (row, label) in rows.iter_mut().zip(labels) {
                row.insert("_row".to_owned(), label.into());
            }
        }
        Ok(rows.into_iter().map(Value::Object).collect())
    }

    /// The cells of a column, which may be a data frame or a matrix itself.
    fn column(&mut self, item: &Item<'_>, count: usize) -> Result<Vec<Value>, String> {
        let cells = if item.is("data.frame") && matches!(item.data, Data::List(_)) {
            self.rows(item)?
        } else {
            let cells = self.cells(item)?;
            if dimensions(item, cells.len()).is_some_and(|dimensions| dimensions.len() > 1) {
                match self.shape(item, cells)? {
                    Value::Array(rows) => rows,
                    Value::Object(rows) => rows.into_iter().map(|(_, row)| row).collect(),
                    scalar => vec![scalar],
                }
            } else {
                cells
            }
        };
        if cells.len() == count {
            return Ok(cells);
        }
        Err(format!("`{}` has {} values for {count} rows", self.place(), cells.len()))
    }

    fn text(&self, text: Characters<'_>) -> Result<Value, String> {
        match text.decode() {
            Ok(text) => Ok(text.map_or(Value::Null, Value::String)),
            Err(_) => Err(format!(
                "`{}` holds bytes that are no text in UTF-8; convert them, as with `iconv(x, \"latin1\", \"UTF-8\")`",
                self.place()
            )),
        }
    }

    fn time(&self, item: &Item<'_>, value: f64) -> Result<Value, String> {
        if value.is_nan() {
            return Ok(Value::Null);
        }
        if item.is("difftime") {
            let units = item.texts("units").and_then(|units| units.into_iter().next()).unwrap_or_default();
            let seconds = match units.as_str() {
                "mins" => 60.0,
                "hours" => 3_600.0,
                "days" => 86_400.0,
                "weeks" => 604_800.0,
                _ => 1.0,
            };
            return Ok(number(value * seconds));
        }
        let (seconds, is_date) = if item.is("Date") { (value.floor() * 86_400.0, true) } else { (value, false) };
        // A double of this size holds microseconds and not much more; the cast saturates, which is out of range too.
        let Ok(timestamp) = jiff::Timestamp::from_microsecond((seconds * 1e6).round() as i64) else {
            return Err(format!("`{}` holds a time that is not within the years -9999 to 9999", self.place()));
        };
        let written = timestamp.to_string();
        Ok(match written.split_once('T') {
            Some((date, _)) if is_date => date.into(),
            _ => written.into(),
        })
    }

    /// Times as fields: each as its text, with the distance from UTC where R knows it.
    fn broken_down_times(&self, item: &Item<'_>, fields: usize) -> Result<Vec<Value>, String> {
        let broken = || format!("`{}` is no whole `POSIXlt`; convert it with `as.POSIXct`", self.place());
        let field = |name: &str| match item.entry(name).map(|field| &field.data) {
            Some(Data::Integer(values)) => Some(values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>()),
            Some(Data::Double(values)) => Some(values.clone()),
            _ => None,
        };
        let parts = ["year", "mon", "mday", "hour", "min", "sec"].map(field);
        let [Some(year), Some(month), Some(day), Some(hour), Some(minute), Some(second)] = parts else {
            return Err(broken());
        };
        let is_utc =
            item.texts("tzone").is_some_and(|zone| matches!(zone.first().map(String::as_str), Some("UTC" | "GMT")));
        let offsets = if fields > 10 { field("gmtoff") } else { None };
        let length = [&year, &month, &day, &hour, &minute, &second].into_iter().map(Vec::len).max().unwrap_or(0);
        let at = |values: &[f64], index: usize| values.get(index % values.len().max(1)).copied().unwrap_or(f64::NAN);
        let one = |index: usize| {
            let missing = |value: f64| value.is_nan() || value == f64::from(i32::MIN);
            let parts = [&year, &month, &day, &hour, &minute, &second].map(|values| at(values, index));
            if parts.into_iter().any(missing) {
                return Value::Null;
            }
            let [year, month, day, hour, minute, second] = parts;
            let zone = match offsets.as_ref().map(|offsets| at(offsets, index)).filter(|offset| !missing(*offset)) {
                _ if is_utc => "Z".to_owned(),
                Some(offset) => {
                    let minutes = (offset.abs() / 60.0) as i64;
                    format!("{}{:02}:{:02}", if offset < 0.0 { '-' } else { '+' }, minutes / 60, minutes % 60)
                }
                None => String::new(),
            };
            let second = if second.fract() == 0.0 { format!("{second:02}") } else { format!("{second:09.6}") };
            format!("{:04}-{:02}-{day:02}T{hour:02}:{minute:02}:{second}{zone}", year + 1900.0, month + 1.0).into()
        };
        Ok((0..length).map(one).collect())
    }

    fn inside<T>(&mut self, step: String, body: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        if self.path.len() == DEEPEST {
            return Err(format!("the result is nested more than {DEEPEST} levels deep"));
        }
        self.path.push(step);
        let result = body(self);
        self.path.pop();
        result
    }

    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        self.room = self
            .room
            .checked_sub(bytes)
            .ok_or_else(|| format!("the result is larger than {} MiB as JSON", LONGEST_LINE >> 20))?;
        Ok(())
    }

    fn place(&self) -> String {
        format!("result{}", self.path.concat())
    }
}

fn is_time(item: &Item<'_>) -> bool {
    ["Date", "POSIXct", "difftime"].into_iter().any(|class| item.is(class))
}

/// Lists that R shows as vectors.
fn is_vector_class(item: &Item<'_>) -> bool {
    item.is("POSIXlt") || item.is("numeric_version")
}

/// A number as JSON has it: a missing one is `null`, an infinite one a text, a whole one has no fraction.
fn number(value: f64) -> Value {
    if value.is_nan() {
        Value::Null
    } else if value.is_infinite() {
        (if value > 0.0 { "Infinity" } else { "-Infinity" }).into()
    } else if value.fract() == 0.0 && value.abs() <= LARGEST_WHOLE {
        Value::from(value as i64)
    } else {
        Number::from_f64(value).map_or(Value::Null, Value::Number)
    }
}

/// The dimensions of a matrix or array, if they agree with its length.
fn dimensions(item: &Item<'_>, length: usize) -> Option<Vec<usize>> {
    let dimensions: Vec<usize> = match &item.attribute("dim")?.data {
        Data::Integer(sizes) => sizes.iter().map(|size| usize::try_from(*size).ok()).collect::<Option<_>>()?,
        Data::Double(sizes) => sizes.iter().map(|size| *size as usize).collect(),
        _ => return None,
    };
    let product = dimensions.iter().try_fold(1_usize, |product, size| product.checked_mul(*size))?;
    (product == length && (1..=DEEPEST).contains(&dimensions.len())).then_some(dimensions)
}

/// One dimension after the other. In R the first varies fastest: its neighbours are `stride` apart.
fn nested(
    cells: &mut [Value],
    dimensions: &[usize],
    names: &[Option<Vec<String>>],
    start: usize,
    stride: usize,
) -> Value {
    let Some((size, rest)) = dimensions.split_first() else { return cells[start].take() };
    let (labels, inner) = names.split_first().map_or((None, &[][..]), |(labels, inner)| (labels.as_ref(), inner));
    let parts: Vec<Value> =
        (0..*size).map(|at| nested(cells, rest, inner, start + at * stride, stride * size)).collect();
    match labels {
        Some(labels) => object(labels, parts),
        None => Value::Array(parts),
    }
}

/// Whether names say something that the values do not. `sapply` and `fs::dir_ls` name texts by themselves.
fn says_more(names: &[String], cells: &[Value]) -> bool {
    let same = names.iter().zip(cells).all(|(name, cell)| cell.as_str() == Some(name));
    !same && names.iter().any(|name| !name.is_empty())
}

fn object(names: &[String], cells: Vec<Value>) -> Value {
    Value::Object(unique(names, cells.len()).into_iter().zip(cells).collect())
}

/// Names for `count` entries, each different: an entry without one is called by its place, and what comes twice gets a
/// number, as `make.unique` does it.
fn unique(names: &[String], count: usize) -> Vec<String> {
    let own: HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut given = HashSet::with_capacity(count);
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let name = |at: usize| {
        let base = names.get(at).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| (at + 1).to_string());
        let mut name = base.clone();
        while !given.insert(name.clone()) {
            let number = numbers.entry(base.clone()).or_default();
            *number += 1;
            let numbered = format!("{base}.{number}");
            if !own.contains(numbered.as_str()) {
                name = numbered;
            }
        }
        name
    };
    (0..count).map(name).collect()
}
