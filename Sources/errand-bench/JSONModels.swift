import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The models that are compared one by one: each is one kind of value, so that a figure belongs to one mechanism.
enum JSONModels {
    private static let count = 4000

    enum Level: String, Codable { case low, middle, high }

    enum Shape: Codable, Equatable {
        case circle(radius: Double)
        case rectangle(width: Double, height: Double)
        case label(String)
        case point
    }

    struct Place: Codable, Equatable {
        var id: Int
        var name: String
    }

    /// What a model reads of an object with forty members.
    struct Last: Codable, Equatable {
        var key39: Int
    }

    struct Wide: Codable, Equatable {
        var key0, key1, key2, key3, key4, key5, key6, key7, key8, key9: Int
        var key10, key11, key12, key13, key14, key15, key16, key17, key18, key19: Int
        var key20, key21, key22, key23, key24, key25, key26, key27, key28, key29: Int
        var key30, key31, key32, key33, key34, key35, key36, key37, key38, key39: Int
    }

    struct Sparse: Codable, Equatable {
        var id: Int
        var name: String?
        var nickname: String?
        var age: Int?
        var isActive: Bool?
        var score: Double?
        var place: Place?
    }

    struct Contact: Codable, Equatable {
        var userID: Int
        var firstName: String
        var lastName: String
        var isActive: Bool
    }

    static let all: [JSONModel] = arrays + texts + dictionaries + objects

    private static let texts = [
        JSONModel("urls", list { #""https://example.com/users/\#($0)/posts?page=2""# }, [URL].self),
        JSONModel("dates", list { "\($0 * 1000).25" }, [Date].self),
        JSONModel("iso_dates", list { #""2026-11-\#(10 + $0 % 18)T10:30:00Z""# }, [Date].self, datesAreTexts: true),
        JSONModel("uuids", list { #""E621E1F8-C36C-495A-93FC-0C247A3E\#(1000 + $0)""# }, [UUID].self),
        JSONModel("data", list { _ in #""SGVsbG8sIHdvcmxkIQ==""# }, [Data].self),
        JSONModel("set", list { #""text \#($0)""# }, Set<String>.self),
        JSONModel("raw_enums", list { "\"\(["low", "middle", "high"][$0 % 3])\"" }, [Level].self),
    ]

    private static let dictionaries = [
        JSONModel("dictionary_of_integers", object { "\($0 * 31)" }, [String: Int].self),
        JSONModel("dictionary_of_strings", object { #""a text, \#($0)""# }, [String: String].self),
        JSONModel("dictionary_of_models", object { #"{"id":\#($0),"name":"Name \#($0)"}"# }, [String: Place].self),
        JSONModel("dictionary_of_lists", object { "[\($0),1,2]" }, [String: [Int]].self),
        JSONModel("dictionary_by_number", numbered { "\($0 * 31)" }, [Int: Int].self),
        JSONModel("dictionaries", list { #"{"a":\#($0),"b":2,"c":3}"# }, [[String: Int]].self),
    ]

    private static let objects = [
        JSONModel("shapes", list(shape), [Shape].self),
        JSONModel("last_of_forty", list(count: 200) { _ in wide }, [Last].self),
        JSONModel("all_of_forty", list(count: 200) { _ in wide }, [Wide].self),
        JSONModel("optional_members", list(sparse), [Sparse].self),
        JSONModel("snake_case", list(contact), [Contact].self, keysAreSnakeCase: true),
    ]

    private static let arrays = [
        JSONModel("array_bool", list { $0 % 3 == 0 ? "true" : "false" }, [Bool].self),
        JSONModel("array_int", list { "\($0 * 31)" }, [Int].self),
        JSONModel("array_int8", list { "\($0 % 200 - 100)" }, [Int8].self),
        JSONModel("array_uint8", list { "\($0 % 256)" }, [UInt8].self),
        JSONModel("array_int32", list { "\($0 * 31)" }, [Int32].self),
        JSONModel("array_uint64", list { "\($0 * 31)" }, [UInt64].self),
        JSONModel("array_int128", list { "\($0 * 31)" }, [Int128].self),
        JSONModel("array_float", list { "\($0).25" }, [Float].self),
        JSONModel("array_double", list { "\(Double($0) / 7)" }, [Double].self),
        JSONModel("array_string", list { #""text \#($0)""# }, [String].self),
        JSONModel("array_optional_int", list { $0 % 3 == 0 ? "null" : "\($0)" }, [Int?].self),
        JSONModel("array_optional_bool", list { $0 % 3 == 0 ? "null" : "true" }, [Bool?].self),
        JSONModel("array_optional_string", list { $0 % 3 == 0 ? "null" : #""text \#($0)""# }, [String?].self),
        JSONModel("array_rows", list { "[\($0),2,3,4]" }, [[Int]].self),
        JSONModel("array_decimal", list { "\($0).\(10 + $0 % 90)" }, [Decimal].self),
    ]

    // MARK: Documents

    private static func list(count: Int = count, _ element: (Int) -> String) -> Data {
        Data("[\((0..<count).map(element).joined(separator: ","))]".utf8)
    }

    private static func object(_ value: (Int) -> String) -> Data {
        Data("{\((0..<count).map { #""key \#($0)":\#(value($0))"# }.joined(separator: ","))}".utf8)
    }

    private static func numbered(_ value: (Int) -> String) -> Data {
        Data("{\((0..<count).map { #""\#($0)":\#(value($0))"# }.joined(separator: ","))}".utf8)
    }

    private static func shape(_ number: Int) -> String {
        switch number % 4 {
        case 0: #"{"circle":{"radius":\#(number).5}}"#
        case 1: #"{"rectangle":{"width":\#(number),"height":2.5}}"#
        case 2: #"{"label":{"_0":"text \#(number)"}}"#
        default: #"{"point":{}}"#
        }
    }

    private static let wide = "{\((0..<40).map { #""key\#($0)":\#($0 * 7)"# }.joined(separator: ","))}"

    private static func sparse(_ number: Int) -> String {
        switch number % 3 {
        case 0: #"{"id":\#(number)}"#
        case 1: #"{"id":\#(number),"name":"Name","nickname":null,"age":30,"isActive":null}"#
        default: #"{"id":\#(number),"score":1.5,"place":{"id":1,"name":"here"}}"#
        }
    }

    private static func contact(_ number: Int) -> String {
        #"{"user_i_d":\#(number),"first_name":"Ann","last_name":"Lee","is_active":true}"#
    }
}
