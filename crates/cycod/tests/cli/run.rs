use crate::support::Place;

#[test]
fn a_value_is_data() {
    let place = Place::with_tool(
        "greet",
        "description: Greet somebody\nbash: echo \"Hello, {WHO}!\"\nparameters:\n  WHO: {type: string, description: Whom, required: true}\n",
    );
    let ran = place.run(&["tool", "run", "greet", "--param", "WHO=$(id) `id` \"; id #"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "Hello, $(id) `id` \"; id #!\n"), "{}", ran.block());
}
