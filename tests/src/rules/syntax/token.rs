//! Splits expressions into tokens.

use super::Fault;
use crate::rules::Rule;

/// A token of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// An attribute, function or keyword, as written.
    Word(String),
    /// `#name`.
    Name(String),
    /// `:value`.
    Value(String),
    /// An index of a list.
    Number(String),
    /// An operator, a bracket, a comma or a point.
    Sign(&'static str),
}

const SIGNS: [&str; 14] = ["<>", "<=", ">=", "<", ">", "=", "+", "-", "(", ")", "[", "]", ",", "."];

impl Token {
    /// The token's text.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Word(text) | Self::Name(text) | Self::Value(text) | Self::Number(text) => text,
            Self::Sign(text) => text,
        }
    }

    /// Whether the token is this keyword, in upper or lower case.
    #[must_use]
    pub fn is_word(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }
}

/// Splits an expression into tokens.
///
/// # Errors
/// A syntax error at a character that begins no token.
pub fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = token(rest, first).ok_or_else(|| {
            let near: String = rest.chars().take(3).collect();
            Fault::new(Rule::Syntax, &[&first.to_string(), &near])
        })?;
        found.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(found)
}

fn token(text: &str, first: char) -> Option<(Token, usize)> {
    let word = |from: usize| {
        let end = text[from..].find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
        end.map_or(text.len(), |end| from + end)
    };
    match first {
        '#' | ':' => {
            let end = word(1);
            let name = text[..end].to_owned();
            let token = if first == '#' { Token::Name(name) } else { Token::Value(name) };
            (end > 1).then_some((token, end))
        }
        '0'..='9' => {
            let end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
            Some((Token::Number(text[..end].to_owned()), end))
        }
        first if first.is_ascii_alphabetic() || first == '_' => {
            let end = word(0);
            Some((Token::Word(text[..end].to_owned()), end))
        }
        _ => SIGNS.into_iter().find(|sign| text.starts_with(sign)).map(|sign| (Token::Sign(sign), sign.len())),
    }
}

/// A position in the tokens of an expression.
#[derive(Debug)]
pub struct Cursor {
    tokens: Vec<Token>,
    at: usize,
}

impl Cursor {
    /// A cursor at the first token of an expression.
    ///
    /// # Errors
    /// A syntax error.
    pub fn over(text: &str) -> Result<Self, Fault> {
        Ok(Self { tokens: tokens(text)?, at: 0 })
    }

    /// The next token.
    #[must_use]
    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    /// The token after the next.
    #[must_use]
    pub fn peek_second(&self) -> Option<&Token> {
        self.tokens.get(self.at + 1)
    }

    /// Consumes the next token.
    pub fn take(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += usize::from(token.is_some());
        token
    }

    /// Consumes the next token if it is this sign; returns whether it was.
    pub fn take_sign(&mut self, sign: &str) -> bool {
        let is_sign = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(is_sign);
        is_sign
    }

    /// Consumes the next token if it is this keyword; returns whether it was.
    pub fn take_word(&mut self, keyword: &str) -> bool {
        let is_word = self.peek().is_some_and(|token| token.is_word(keyword));
        self.at += usize::from(is_word);
        is_word
    }

    /// Consumes this sign.
    ///
    /// # Errors
    /// A syntax error if another token is next.
    pub fn expect_sign(&mut self, sign: &str) -> Result<(), Fault> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.fault()) }
    }

    /// Checks that no token is left.
    ///
    /// # Errors
    /// A syntax error if a token is left.
    pub fn expect_end(&self) -> Result<(), Fault> {
        if self.peek().is_none() { Ok(()) } else { Err(self.fault()) }
    }

    /// A syntax error at the next token.
    #[must_use]
    pub fn fault(&self) -> Fault {
        let text = |at: usize| self.tokens.get(at).map_or("", Token::text);
        let near = [self.at.checked_sub(1).map_or("", text), text(self.at), text(self.at + 1)].join(" ");
        let token = if self.at < self.tokens.len() { text(self.at) } else { "<EOF>" };
        Fault::new(Rule::Syntax, &[token, near.trim()])
    }
}
