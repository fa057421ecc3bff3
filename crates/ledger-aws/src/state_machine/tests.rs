use super::*;
use crate::server::{Reply, Server};
use ledger_core::ids::{MerchantId, SettlementId, Tenant};
use serde_json::{Value, json};

const ARN: &str = "arn:aws:states:ap-northeast-1:123456789012:stateMachine:ecopay-settlement";
const MERCHANT: &str = "019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5f";
const SETTLEMENT: &str = "019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

async fn started(run: u32, reply: Reply) -> (Result<(), String>, Server) {
    let server = Server::script([reply]).await;
    let at = SettlementRef {
        tenant: Tenant::parse("aoba").unwrap(),
        merchant: MerchantId::parse(MERCHANT).unwrap(),
        id: SettlementId::parse(SETTLEMENT).unwrap(),
    };
    let started = StateMachine::new(&server.sdk(), ARN).start(&at, run).await;
    (started, server)
}

fn error(status: u16, code: &str) -> Reply {
    Reply::json(status, &json!({"__type": format!("com.amazonaws.swf.service.v2.model#{code}"), "message": "x"}))
}

#[tokio::test]
async fn execution_is_named_after_settlement_and_run() {
    let execution = json!({"executionArn": format!("{ARN}:x"), "startDate": 1_795_264_147.0});
    let (result, server) = started(3, Reply::json(200, &execution)).await;
    assert_eq!(result, Ok(()));
    let [request] = &server.requests()[..] else { panic!("one request") };
    let (operation, mut body) = request.received();
    let input: Value = serde_json::from_str(body["input"].take().as_str().unwrap()).unwrap();
    assert_eq!(operation, "AWSStepFunctions.StartExecution");
    assert_eq!(body, json!({"stateMachineArn": ARN, "name": format!("{SETTLEMENT}-3"), "input": null}));
    assert_eq!(input, json!({"tenant": "aoba", "merchant_id": MERCHANT, "settlement_id": SETTLEMENT}));
}

#[tokio::test]
async fn run_started_before_is_success_and_other_errors_are_returned() {
    for (reply, result) in [
        (error(400, "ExecutionAlreadyExists"), Ok(())),
        (error(400, "StateMachineDoesNotExist"), Err("StateMachineDoesNotExist")),
        (error(400, "ThrottlingException"), Err("ThrottlingException")),
        (error(400, "AccessDeniedException"), Err("AccessDeniedException")),
        (error(500, "InternalServerError"), Err("InternalServerError")),
        (Reply::Reset, Err("no answer")),
    ] {
        assert_eq!(started(0, reply).await.0, result.map_err(str::to_owned));
    }
}
