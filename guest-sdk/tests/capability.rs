//! A capability as its author writes it, seen as the host sees it.

use remit_sdk::{Content, Failure, Reply, testing};
use serde_json::json;

use shop::Capability as Shop;

#[remit_sdk::capability]
mod shop {
    use remit_sdk::{Context, Failure, Reply, http};
    use std::collections::BTreeMap;

    /// Repeats "a message".
    #[tool(read_only, idempotent)]
    pub fn echo(message: String) -> String {
        message
    }

    /// Finds goods,
    /// cheapest first.
    ///
    /// It looks in every shop.
    ///
    /// # Errors
    ///
    /// None.
    #[tool(title = "Find goods", read_only = true, open_world = false, keywords("buy", "price"))]
    pub fn find(
        /// What to look for,
        /// in words.
        #[schema(min_length = 1, max_length = 200, pattern = "^\\S")]
        words: &str,
        /// How many.
        #[schema(min = 1, max = 100, default = 20)]
        limit: u8,
        #[schema(default = "price")] order: Order,
        #[schema(max_items = 3)] shops: Option<Vec<u32>>,
        r#type: Option<&str>,
        context: Context,
    ) -> Found {
        let goods = vec![Goods {
            name: words.to_owned(),
            price: f64::from(limit),
            note: r#type.map(str::to_owned),
            extra: BTreeMap::new(),
            hidden: Some(1),
        }];
        Found { goods, order, more: shops.unwrap_or_default() == [1], run: context.run_id }
    }

    /// Buys something.
    #[tool(destructive = false, expose = false)]
    pub fn buy(goods: &Goods, context: &Context) -> Result<Reply, Failure> {
        if context.dry_run {
            return Ok(Reply::new().text(format!("would buy it, {:?}", goods.hidden)));
        }
        let response = http::post("https://shop.example/").json(goods).send()?;
        match response.status {
            404 => Err(Failure::NotFound(format!("no {}", goods.name))),
            _ => Ok(Reply::new()
                .text("bought")
                .image([1, 2], "image/png")
                .link("https://shop.example/1", "receipt")),
        }
    }

    /// What was found.
    #[remit_sdk::data]
    pub struct Found {
        goods: Vec<Goods>,
        order: Order,
        /// Whether there is more.
        more: bool,
        run: String,
    }

    /// One thing.
    #[remit_sdk::data]
    #[derive(Debug)]
    #[serde(rename_all = "camelCase")]
    pub struct Goods {
        /// Its name.
        pub name: String,
        #[schema(min = 0)]
        #[serde(rename = "cost")]
        pub price: f64,
        pub note: Option<String>,
        #[serde(default)]
        pub extra: BTreeMap<String, i64>,
        #[serde(skip)]
        pub hidden: Option<u32>,
    }

    /// Which comes first.
    #[remit_sdk::data]
    #[serde(rename_all = "snake_case")]
    pub enum Order {
        Price,
        LatestFirst,
        #[serde(skip)]
        #[expect(dead_code, reason = "its name is what must not show")]
        Unknown,
    }
}

#[test]
fn schemas() {
    let goods = json!({
        "type": "object",
        "description": "One thing.",
        "properties": {
            "name": { "type": "string", "description": "Its name." },
            "cost": { "type": "number", "minimum": 0 },
            "note": { "type": "string" },
            "extra": { "type": "object", "additionalProperties": { "type": "integer" } },
        },
        "required": ["name", "cost"],
        "additionalProperties": false,
    });
    let order = |default: Option<&str>| {
        let mut order =
            json!({ "type": "string", "description": "Which comes first.", "enum": ["price", "latest_first"] });
        if let Some(default) = default {
            order["default"] = json!(default);
        }
        order
    };
    let expected = json!([
        {
            "name": "echo",
            "description": "Repeats \"a message\".",
            "readOnly": true,
            "idempotent": true,
            "expose": true,
            "inputSchema": {
                "type": "object",
                "properties": { "message": { "type": "string" } },
                "required": ["message"],
                "additionalProperties": false,
            },
        },
        {
            "name": "find",
            "title": "Find goods",
            "description": "Finds goods, cheapest first.\n\nIt looks in every shop.",
            "keywords": ["buy", "price"],
            "readOnly": true,
            "openWorld": false,
            "expose": true,
            "inputSchema": {
                "type": "object",
                "properties": {
                    "words": {
                        "type": "string",
                        "description": "What to look for, in words.",
                        "minLength": 1,
                        "maxLength": 200,
                        "pattern": "^\\S",
                    },
                    "limit": {
                        "type": "integer", "description": "How many.", "minimum": 1, "maximum": 100, "default": 20,
                    },
                    "order": order(Some("price")),
                    "shops": {
                        "type": "array",
                        "items": { "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32 },
                        "maxItems": 3,
                    },
                    "type": { "type": "string" },
                },
                "required": ["words"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "description": "What was found.",
                "properties": {
                    "goods": { "type": "array", "items": goods },
                    "order": order(None),
                    "more": { "type": "boolean", "description": "Whether there is more." },
                    "run": { "type": "string" },
                },
                "required": ["goods", "order", "more", "run"],
                "additionalProperties": false,
            },
        },
        {
            "name": "buy",
            "description": "Buys something.",
            "destructive": false,
            "expose": false,
            "inputSchema": {
                "type": "object",
                "properties": { "goods": goods },
                "required": ["goods"],
                "additionalProperties": false,
            },
        },
    ]);
    assert_eq!(testing::tools::<Shop>(), expected);
}

#[test]
fn text_answers_are_text_only() {
    let reply = testing::call::<Shop>("echo", &json!({ "message": "hi\n" }));
    assert_eq!(reply, Ok(Reply::new().text("hi\n")));
}

#[test]
fn data_answers_are_structured_and_the_same_as_text() {
    let check = |input, expected: serde_json::Value| {
        let reply = testing::call::<Shop>("find", &input).expect("it is found");
        let structured = reply.structured.expect("it is structured");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&structured).expect("it is JSON"), expected);
        assert_eq!(reply.content, [Content::Text(structured)]);
    };
    check(
        json!({ "words": "tea" }),
        json!({ "goods": [{ "name": "tea", "cost": 20.0, "extra": {} }], "order": "price", "more": false, "run": "test" }),
    );
    check(
        json!({ "words": "tea", "limit": 2, "order": "latest_first", "shops": [1], "type": "green" }),
        json!({
            "goods": [{ "name": "tea", "cost": 2.0, "note": "green", "extra": {} }],
            "order": "latest_first",
            "more": true,
            "run": "test",
        }),
    );
}

#[test]
fn failures() {
    let call = testing::call::<Shop>;
    assert_eq!(call("sell", &json!({})), Err(Failure::NotFound("no tool `sell`".to_owned())));
    assert!(
        matches!(call("echo", &json!({})), Err(Failure::InvalidInput(message)) if message.contains("`message`"))
    );

    let goods = json!({ "goods": { "name": "tea", "cost": 1 } });
    testing::http(|request| {
        assert_eq!(request.url, "https://shop.example/");
        Ok(testing::json(404, &()))
    });
    assert_eq!(call("buy", &goods), Err(Failure::NotFound("no tea".to_owned())));
    testing::http(|_| Err(remit_sdk::http::Error::Timeout));
    assert_eq!(call("buy", &goods), Err(Failure::Failed("the host did not answer in time".to_owned())));
}

#[test]
fn replies_of_several_kinds() {
    testing::http(|_| Ok(testing::json(200, &())));
    let reply =
        testing::call::<Shop>("buy", &json!({ "goods": { "name": "tea", "cost": 1 } })).expect("it is bought");
    assert_eq!(reply.content.len(), 3);
    assert_eq!(reply.structured, None);
}

#[test]
fn tools_are_plain_functions() {
    assert_eq!(shop::echo("hi".to_owned()), "hi");
}
