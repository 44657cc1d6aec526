use cycod_diagnostic::{Code, Refusal};

use crate::{Answer, Decision, Request, Verdict};

/// Something that may be done. Only a decision can make it.
#[derive(Debug)]
pub struct Approved<T> {
    subject: T,
    decision: Decision,
    answer: Option<Answer>,
}

impl<T> Approved<T> {
    /// What may be done.
    pub fn subject(&self) -> &T {
        &self.subject
    }

    /// Why it may be done.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// What somebody answered, if somebody was asked.
    pub fn answer(&self) -> Option<&Answer> {
        self.answer.as_ref()
    }
}

impl Decision {
    /// Approves `subject` where nobody need be asked.
    ///
    /// # Errors
    /// A refusal when the verdict is to deny, and when it is to ask.
    pub fn approve<T>(self, tool: &str, subject: T) -> Result<Approved<T>, Refusal> {
        match self.verdict {
            Verdict::Allow => Ok(Approved { subject, decision: self, answer: None }),
            Verdict::Ask => Err(self.unanswered(tool, None)),
            Verdict::Deny => Err(self.refused(tool, format!("`{tool}` is not allowed to run here"))),
        }
    }

    /// Approves `subject` by what was answered to `request`, which counts where the verdict is to ask.
    ///
    /// # Errors
    /// A refusal when the verdict is to deny, and when the answer is not yes.
    pub fn approve_answered<T>(self, subject: T, request: &Request, answer: Answer) -> Result<Approved<T>, Refusal> {
        let tool = &request.tool;
        match (self.verdict, answer) {
            (Verdict::Ask, answer @ (Answer::Once | Answer::Session(_) | Answer::Always(_))) => {
                Ok(Approved { subject, decision: self, answer: Some(answer) })
            }
            (Verdict::Ask, Answer::No(reason)) => {
                let said = reason.map(|reason| format!(", because: {reason}")).unwrap_or_default();
                Err(Refusal::new(Code::ApprovalDeclined, format!("running `{tool}` was not approved{said}"))
                    .rule(self.rule)
                    .place(tool)
                    .attempt("do not repeat the same call; ask the user what they want instead"))
            }
            // A caller that can plan again does so before it comes to this.
            (Verdict::Ask, Answer::Edit(arguments)) => {
                Err(self.unanswered(tool, Some(format!("call it with these arguments: {arguments}"))))
            }
            (Verdict::Ask, Answer::Unanswered(attempt)) => Err(self.unanswered(tool, attempt)),
            (Verdict::Allow | Verdict::Deny, _) => self.approve(tool, subject),
        }
    }

    fn unanswered(self, tool: &str, attempt: Option<String>) -> Refusal {
        let attempt = attempt.unwrap_or_else(|| format!("run it by hand: cycod run {tool}"));
        self.refused(tool, format!("`{tool}` needs approval, and no one has answered")).attempt(attempt)
    }

    fn refused(self, tool: &str, why: String) -> Refusal {
        Refusal::new(self.code, why).rule(self.rule).place(tool)
    }
}

#[cfg(test)]
mod tests {
    use cycod_definition::{Level, Privilege};

    use super::*;
    use crate::{Breadth, Surface};

    fn request() -> Request {
        Request {
            tool: "t".to_owned(),
            title: None,
            source: "t.yaml".to_owned(),
            level: Level::Run,
            privilege: Privilege::SameAsUser,
            commands: Vec::new(),
            arguments: "{}".to_owned(),
            editable: None,
            working_directory: "/".to_owned(),
            reach: Vec::new(),
            rule: "a rule".to_owned(),
            yields: true,
            justification: None,
            changes: None,
            warnings: Vec::new(),
            digest: String::new(),
            call: String::new(),
            surface: Surface::Mcp,
            asker: "a test".to_owned(),
            is_lasting: true,
            has_session: true,
        }
    }

    #[test]
    fn only_a_yes_to_a_question_approves() {
        let decision = |verdict| Decision::built_in(verdict, "a rule", Code::NotApproved);
        let answered = |verdict, answer: Answer| match decision(verdict).approve_answered((), &request(), answer) {
            Ok(approved) => approved.answer().map_or("allowed".to_owned(), |answer| format!("{answer:?}")),
            Err(refusal) => format!("{}: {}", refusal.code, refusal.why),
        };
        let yes = [Answer::Once, Answer::Session(Breadth::AnyArguments), Answer::Always(Breadth::TheseArguments)];
        for yes in yes {
            assert_eq!(answered(Verdict::Ask, yes.clone()), format!("{yes:?}"));
            assert_eq!(answered(Verdict::Deny, yes.clone()), "not-approved: `t` is not allowed to run here");
            assert_eq!(answered(Verdict::Allow, yes), "allowed");
        }
        let no = Answer::No(Some("not today".to_owned()));
        assert_eq!(answered(Verdict::Ask, no), "approval-declined: running `t` was not approved, because: not today");
        for silent in [Answer::Unanswered(None), Answer::Edit("{}".to_owned())] {
            assert_eq!(answered(Verdict::Ask, silent), "not-approved: `t` needs approval, and no one has answered");
        }
        assert!(decision(Verdict::Ask).approve("t", ()).is_err());
    }
}
